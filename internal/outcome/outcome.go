package outcome

import (
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// Outcome is what one attempt, or one question about it, taught us.
type Outcome struct {
	PaymentID uuid.UUID
	// Learned is stored whatever it decides. Its id is set by Apply.
	Learned evidence.Evidence
	// ClaimID is that of the attempt which Learned.Fence names. At a fence alone the word of
	// a claim that rolled back, or was lost, would be taken for the next one's.
	ClaimID uuid.UUID
	// Others are further movements that the same word names. Each is stored as
	// evidence of its own.
	Others []provider.Movement
	// NotSent says that the attempt's own trace shows that no byte left. It
	// stands instead of evidence: there was nothing to answer.
	NotSent bool
	// Settle says that the derived strategy has nothing better left than to let
	// an authoritative "not taken" fail the operation. Without it, such a no
	// only covers, and the caller decides on the next step.
	Settle bool
	// RetryAfter is the provider's hint for an attempt that was not taken.
	RetryAfter time.Duration
}

// Applied says what an outcome did.
type Applied struct {
	OperationID uuid.UUID
	From, To    payment.OperationState
	Fence       int64 // afterwards
	// WaitsFor is who has to act next on what is open afterwards, where a word was applied.
	WaitsFor operation.Owner
	// Contradiction is set when the provider's word and ours do not go together:
	// a capture of what had failed or been canceled, a void of what succeeded, more
	// than one charge, or another amount.
	Contradiction bool
	// CaseID is the case that the contradiction opened or belongs to; Nil where no
	// case is kept of it, such as a refund that took place more than once.
	CaseID uuid.UUID
}

// ContradictionMessage is what the log says when Applied.Contradiction is set,
// whoever told the outcome: one alert finds all of them.
const ContradictionMessage = "the provider's word and the books contradict each other; see its case"

// The reasons that outcomes leave on operations and payments. They are stable
// codes: clients and tools branch on them.
const (
	ReasonDeclined       = "declined"        // the provider refused, without saying why
	ReasonNotTaken       = "not-taken"       // proven that the provider never took it
	ReasonExpired        = "expired"         // chargeBefore passed before it could be sent
	ReasonLeaseRanOut    = "lease-ran-out"   // the worker vanished while it may have sent
	ReasonAmountMismatch = "amount-mismatch" // the provider moved another amount than asked
	// ReasonAnothersMovement marks a refund for which the provider names the charge's own
	// movement, or that of another refund.
	ReasonAnothersMovement = "movement-of-another"
	ReasonClosing          = "closing-door" // the provider is about to be asked to refuse our reference
	ReasonRetrying         = "retrying"     // proven not sent or not taken; due again
	ReasonSuperseded       = "superseded"   // an earlier refund of the same money took place after all
	ReasonDoorOpen         = "door-open"    // expired, but the provider could still take an earlier attempt
	// ReasonObjectInDoubt marks a charge of which an attempt was lost that may have moved money by
	// another object than the stored one, about which alone the provider can be asked.
	ReasonObjectInDoubt = "object-in-doubt"
)
