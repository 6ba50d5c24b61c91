package inbox

// rejection marks an error as the message's own fault.
type rejection struct{ cause error }

func (r rejection) Error() string { return "rejected: " + r.cause.Error() }
func (r rejection) Unwrap() error { return r.cause }

// Reject says that the handler can never handle a message, for the reason given:
// the message goes to the dead letters, its transaction is rolled back, and its
// partition goes on. Every other error means trouble that may pass, such as a
// database that is down; the message then comes back until it succeeds. The text
// of err is published with the dead letter.
//
// A handler that got several messages is called again with each of them alone; a
// rejection counts only there, where it is clear which message it means.
func Reject(err error) error { return rejection{err} }
