// Package casework owns the cases of late and contradicting truth (U7, B3).
//
//	outcome ──opens──> case ──plan──> adopt, refund or void ──> resolved
//	                    ▲                          └─ failed ─> a person decides
//	                    └── Decide, by a person ──> plan, or dismissed
//
// Its promise: when the provider's word and ours do not go together, nothing is
// overwritten silently. The contradiction has a plan, a state, somebody who has to
// act, and a history that says who moved it and why; money that no payment accounts
// for stands in suspense until the case is closed.
//
// The package moves rows, each conditional on the version that was read. What a word
// of the provider means for a case, and how a plan is carried out, is decided in
// outcome; the triggers in schema/migrations close no case without its proof.
//
// Lock order: a case is moved by whoever holds its payment and its charge.
package casework

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Errors that callers branch on.
var (
	// ErrMoved means that a case was not where it had been read. Nothing was done;
	// look again.
	ErrMoved = errors.New("the case has moved since it was read")
	// ErrNoSuchCase means that this database has no such case.
	ErrNoSuchCase = errors.New("no such case")
	// ErrNotOpen means that the case is closed, or that a refund or void of it is
	// under way: nothing can be decided about it now.
	ErrNotOpen = errors.New("the case is not open")
	// ErrDoesNotFit means that the case is of another kind than the decision needs.
	ErrDoesNotFit = errors.New("the decision does not fit the case")
)

// Kind says what contradicts what.
type Kind string

// The kinds. "Failed" includes canceled.
const (
	CapturedAfterFailed Kind = "captured_after_failed" // failed here, charged there
	CapturedTwice       Kind = "captured_twice"        // charged there more often than here
	AmountMismatch      Kind = "amount_mismatch"       // charged there, but another amount or currency
	FailedAfterCaptured Kind = "failed_after_captured" // captured here, and the provider has nothing any more
)

// Plan says what is to be done about a case.
type Plan string

// The plans. A refund or void is of the provider's movement and none of the
// payment's own refunds.
const (
	PlanAdopt  Plan = "adopt"  // the payment becomes captured, while nobody else holds its invoice; or the refund succeeded, within the payment
	PlanRefund Plan = "refund" // the money goes back
	PlanVoid   Plan = "void"   // the money goes back, where the provider cannot refund
	PlanPerson Plan = "person" // no rule decides it
)

// State is where a case stands.
type State string

// The states. Working means that a refund or void of the case is under way.
const (
	Open      State = "open"
	Working   State = "working"
	Resolved  State = "resolved"
	Dismissed State = "dismissed"
)

// Closed reports whether nothing happens to the case any more.
func (s State) Closed() bool { return s == Resolved || s == Dismissed }

// Resolution says how a case was resolved.
type Resolution string

// The resolutions. Corrected means that the provider's later word made the money
// the charge's own.
const (
	Adopted   Resolution = "adopted"
	Refunded  Resolution = "refunded"
	Voided    Resolution = "voided"
	Corrected Resolution = "corrected"
)

// Case is one contradiction about one charge, or one merchant's refund. Of a refund
// "captured" means that the provider gave the money back.
type Case struct {
	ID, PaymentID uuid.UUID
	OperationID   uuid.UUID    // the charge or refund
	Of            payment.Kind // of that operation
	Kind          Kind

	ProviderAccount string
	// Amount is what the provider said, not what we asked for; zero when it did
	// not say.
	Amount money.Amount
	// Suspended means that Amount stands in suspense while the case is not closed.
	Suspended bool
	// MovedBy is who made the latest move: a rule does not do everything that a
	// person may order.
	MovedBy operation.Owner

	Standing

	NextStepAt           *time.Time // when the machine takes its next step; nil for a person
	CreatedAt, UpdatedAt time.Time
}

// Standing is the part of a case that moves.
type Standing struct {
	State      State
	Plan       Plan
	Resolution Resolution // empty until resolved
	WaitsFor   operation.Owner
	// ProviderObjectID is the provider's movement that it is about, empty until the
	// provider names it.
	ProviderObjectID string
	Version          int64 // rises by one with every move
}

// Held is the money of the case, as the ledger books it.
func (c Case) Held() ledger.Held {
	return ledger.Held{
		CaseID: c.ID, OperationID: c.OperationID, ProviderAccount: c.ProviderAccount, Amount: c.Amount, WentOut: c.Of == payment.KindRefund,
	}
}

// Actor is who moved a case.
type Actor struct {
	Owner operation.Owner
	Name  string // of the part of payonce, or of the person
}

// Machine is the actor of everything that a rule decides.
var Machine = Actor{Owner: operation.Machine, Name: "payonce"}
