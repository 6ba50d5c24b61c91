package problem

import "net/http"

// The problems that only commands over Kafka have.
var (
	CommandExpired     = Problem{"command-expired", "The command is too old to be carried out for the first time", http.StatusBadRequest, false}
	CommandMalformed   = Problem{"command-malformed", "The record is no command", http.StatusBadRequest, false}
	CommandUnsupported = Problem{"command-unsupported", "The command's type or version is not known here", http.StatusBadRequest, false}
	// OutcomeUnknown does not say that nothing was stored.
	OutcomeUnknown = Problem{"outcome-unknown", "It is not known whether the command was carried out", http.StatusInternalServerError, true}
)
