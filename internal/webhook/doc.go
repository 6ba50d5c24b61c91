// Package webhook keeps what providers tell us without being asked.
//
//	provider ──POST──> Receiver ──one statement──> provider_event ──Take──> reconcile
//
// Its promise: a webhook that was answered 200 is stored, as it came, once (U8).
// Nothing is concluded from one here, and nobody is called: a webhook is believed
// by its signature alone, speaks for the account whose secret it was signed with,
// and waits until a reconciler has made something of it, or a person has.
//
// The body is kept as long as somebody may still have to read it, and BodyKeep
// longer: it may hold names and tokens of customers. Its hash and what followed
// from it stay.
package webhook

import (
	"time"

	"github.com/google/uuid"
)

const (
	// BodyBytesMax bounds a webhook's body: well above what payment providers send,
	// which is a few KiB, and small enough to hold some in memory.
	BodyBytesMax = 256 << 10
	// BodyKeep is how long a body stays after it was applied or ignored: about as
	// long as providers let a person look at the event on their side.
	BodyKeep = 30 * 24 * time.Hour
	// idBytesMax bounds the provider's id of an event and its type.
	idBytesMax = 255
)

// Event is one webhook that a reconciler has taken.
type Event struct {
	ID         uuid.UUID // ours
	Account    string
	EventID    string // the provider's
	Type       string
	Body       []byte
	ReceivedAt time.Time // database clock
	TakenAt    time.Time // database clock
	Tries      int       // this one included
}

// State says what has become of an event.
type State string

// The states. Waiting is the only one that is left by itself.
const (
	Waiting State = "waiting"
	Applied State = "applied" // what it says is evidence, or agrees with the books
	Ignored State = "ignored" // it is about nothing that payonce acts on
	Person  State = "person"  // it speaks of what payonce cannot judge; a person has to look
)

// The reasons that events carry. They are stored, so they do not change.
const (
	ReasonUnknownType  = "unknown-type"  // not about a movement
	ReasonForeign      = "foreign"       // about a movement that payonce did not ask for
	ReasonUnreadable   = "unreadable"    // signed, and not in the provider's format
	ReasonNoOperation  = "no-operation"  // about an operation that is not here
	ReasonOtherAccount = "other-account" // about an operation of another account
	ReasonOtherKind    = "other-kind"    // about another kind of movement than the operation is
	ReasonNoInquiry    = "no-inquiry"    // denies what succeeded, and the provider cannot be asked
	ReasonBusy         = "busy"          // an attempt is under way; what the event says is looked at after it
	ReasonNotAnswered  = "not-answered"  // the provider was asked about it, and gave no plain answer
	ReasonUndecided    = "undecided"     // the provider was asked about it, and still works on it
	ReasonFailed       = "failed"        // the last try ended in an error of ours, which the log has
)
