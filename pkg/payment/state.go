// Package payment holds the words that every part of payonce shares: kinds and
// states of operations, states of payments, what a piece of evidence can say,
// and the one JSON form of a payment.
//
// States belong to the operation, one money movement at one provider account.
// A payment's state is the projection of its charge. The arrows between states
// are one closed table (Arrows), which the database holds too; a test compares
// the two.
package payment

// Kind says which way an operation moves money.
type Kind string

// The kinds of operations.
const (
	KindCharge Kind = "charge"
	KindRefund Kind = "refund"
	KindVoid   Kind = "void"
)

// Kinds are all of them.
var Kinds = [...]Kind{KindCharge, KindRefund, KindVoid}

// OperationState is where one money movement stands.
type OperationState string

// The states of an operation. Unknown means: it may have been sent, and nothing
// proves what became of it. It is a state to work on, not an error.
const (
	OperationCreated    OperationState = "created"
	OperationProcessing OperationState = "processing"
	OperationPending    OperationState = "pending"
	OperationUnknown    OperationState = "unknown"
	OperationSucceeded  OperationState = "succeeded"
	OperationFailed     OperationState = "failed"
	OperationCanceled   OperationState = "canceled"
)

// Final reports whether the movement has its outcome.
func (s OperationState) Final() bool {
	return s == OperationSucceeded || s == OperationFailed || s == OperationCanceled
}

// PaymentState projects a charge's state onto its payment.
func (s OperationState) PaymentState() State {
	if s == OperationSucceeded {
		return StateCaptured
	}
	return State(s)
}

// State is where a payment stands, as clients see it.
type State string

// The states of a payment. Only Captured, Failed and Canceled are final; a
// client that sees any other state must not pay again elsewhere.
const (
	StateCreated    State = "created"
	StateProcessing State = "processing"
	StatePending    State = "pending"
	StateUnknown    State = "unknown"
	StateCaptured   State = "captured"
	StateFailed     State = "failed"
	StateCanceled   State = "canceled"
)

// States are all of them.
var States = [...]State{
	StateCreated, StateProcessing, StatePending, StateUnknown, StateCaptured, StateFailed, StateCanceled,
}

// Final reports whether the payment has its outcome.
func (s State) Final() bool {
	return s == StateCaptured || s == StateFailed || s == StateCanceled
}

// Arrow is one move that an operation may make.
type Arrow struct{ From, To OperationState }

// Arrows is the closed table of moves. What else a move needs (evidence, cover,
// a fence) is said where it is made and guarded again in the database.
//
// A resend does not leave unknown: it is a new attempt within it. No arrow leaves
// a final state: late truth needs a case, and cases bring their own arrows.
func Arrows() []Arrow {
	return []Arrow{
		{OperationCreated, OperationProcessing},
		{OperationCreated, OperationUnknown},
		{OperationCreated, OperationFailed},
		{OperationCreated, OperationCanceled},
		{OperationProcessing, OperationSucceeded},
		{OperationProcessing, OperationFailed},
		{OperationProcessing, OperationPending},
		{OperationProcessing, OperationUnknown},
		{OperationProcessing, OperationCreated},
		{OperationPending, OperationSucceeded},
		{OperationPending, OperationFailed},
		{OperationPending, OperationUnknown},
		{OperationUnknown, OperationSucceeded},
		{OperationUnknown, OperationFailed},
		{OperationUnknown, OperationPending},
		{OperationUnknown, OperationCreated},
	}
}
