package outcome

import (
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// step is one thing that happens to a case.
type step struct {
	file   *file
	opens  bool
	from   casework.Case // as it was; as it opens
	to     casework.Standing
	reason string
	books  ledger.Purpose // what is booked with it; empty for nothing
	by     uuid.UUID      // the compensation whose movement is booked
}

// The reasons that rules leave in a case's history. A case that opens has the source
// of the word that opened it.
const (
	reasonNamed           = "named"             // the provider's movement got its name
	reasonCorrected       = "corrected"         // the provider's later word made it the charge's own
	reasonGivenBack       = "given-back"        // its refund or void succeeded
	reasonNotGivenBack    = "not-given-back"    // its refund or void failed
	reasonAdopted         = "adopted"           // its payment is captured
	reasonOrdered         = "ordered"           // its refund or void is due
	reasonInvoiceTaken    = "invoice-taken"     // another live payment holds the invoice or the reference
	reasonAlreadyCaptured = "already-captured"  // its payment is captured with another movement
	reasonNoWayBack       = "cannot-give-back"  // neither a refund nor a void is possible
	reasonUnvouched       = "not-from-provider" // no answer of the provider itself names the movement
	reasonDenied          = "denied-since"      // the provider's newest word about the movement is a no
	reasonOwnInDoubt      = "charge-in-doubt"   // it could be the only money that the payment has
	reasonMayBeGivenBack  = "may-be-given-back" // what would be adopted may have gone back
	reasonBeyondLimit     = "beyond-captured"   // with it, more would be refunded than was captured
)

// words are an outcome's evidence: what was learned, and each further movement that
// the same word names. An answer's no covers its attempt, and what is named beside it
// must not.
func (o Outcome) words() []evidence.Evidence {
	words := []evidence.Evidence{o.Learned}
	for _, m := range o.Others {
		if o.Learned.Source == evidence.Answer && m.Verdict != payment.VerdictCaptured {
			continue
		}
		more := o.Learned
		more.Verdict, more.Amount, more.ProviderObjectID = m.Verdict, m.Amount, m.ObjectID
		more.CoversUntil, more.CoversEarlier = time.Time{}, false
		words = append(words, more)
	}
	return words
}

// follow decides what an outcome, which is applied already, means for the cases: it
// returns what happens to them, and the case that the outcome contradicts us in. from
// is where the operation stood before. It reads no clock.
func (k *known) follow(o Outcome, from payment.OperationState) (steps []step, about *file) {
	if k.row.CaseID != nil {
		return k.followCompensation(o, from)
	}
	if (k.row.Kind != payment.KindCharge && k.row.RefundReference == nil) || o.NotSent {
		return nil, nil
	}
	for _, word := range o.words() {
		more, f := k.followWord(word, from)
		steps = append(steps, more...)
		if about == nil {
			about = f
		}
	}
	return steps, about
}

// followCompensation lets a case follow the operation that gives its money back.
func (k *known) followCompensation(o Outcome, from payment.OperationState) (steps []step, about *file) {
	if len(k.files) == 0 {
		return nil, nil
	}
	f := k.files[0]
	f.note(k)
	if from.Final() && o.Learned.Verdict == payment.VerdictCaptured && from != payment.OperationSucceeded {
		about = f // given up here, and given back there
		if f.Resolution == casework.Adopted && k.charge.row.State == payment.OperationSucceeded {
			doubted := o.Learned // the charge holds money that went back
			doubted.ProviderObjectID = k.charge.ownMovement()
			return k.charge.openCase(casework.FailedAfterCaptured, doubted, false)
		}
	}
	if k.row.State == from {
		return nil, about
	}
	switch k.row.State {
	case payment.OperationSucceeded:
		to := f.Standing
		to.State, to.Resolution, to.WaitsFor = casework.Resolved, casework.Refunded, operation.Machine
		if k.row.Kind == payment.KindVoid {
			to.Resolution = casework.Voided
		}
		given := f.move(to, reasonGivenBack)
		given.books, given.by = ledger.Movement, k.row.ID
		steps = append(steps, given)
	case payment.OperationFailed, payment.OperationCanceled:
		steps = append(steps, f.handToPerson(reasonNotGivenBack))
	case payment.OperationCreated, payment.OperationProcessing, payment.OperationPending, payment.OperationUnknown:
	}
	return steps, about
}

// followWord decides about one piece of evidence of a charge, or of a merchant's refund,
// which is judged in the same way.
func (k *known) followWord(e evidence.Evidence, from payment.OperationState) ([]step, *file) {
	if e.Verdict != payment.VerdictCaptured {
		if from != payment.OperationSucceeded || !k.denies(e) {
			return nil, nil
		}
		e.ProviderObjectID = k.ownMovement() // what is in doubt is what we booked
		return k.openCase(casework.FailedAfterCaptured, e, false)
	}
	own := k.ownMovement()
	isOwn := e.ProviderObjectID == "" || e.ProviderObjectID == own || (own == "" && k.fileNamed(e.ProviderObjectID) == nil)
	if k.row.State == payment.OperationSucceeded && isOwn {
		return k.followOwn(e)
	}
	if f, named := k.fileOf(e); f != nil {
		return named, f
	}
	switch {
	case k.row.State == payment.OperationSucceeded:
		return k.openCase(casework.CapturedTwice, e, k.suspends(e))
	case k.row.State.Final():
		return k.openCase(casework.CapturedAfterFailed, e, k.suspends(e))
	case e.Amount != k.row.Amount:
		return k.openCase(casework.AmountMismatch, e, k.suspends(e))
	}
	return nil, nil
}

// suspends reports money that stands in suspense: of another refund's movement it is
// booked already.
func (k *known) suspends(e evidence.Evidence) bool {
	return bookable(e.Amount) && !k.anothers[e.ProviderObjectID]
}

// followOwn takes in a word about the movement that the charge succeeded with. What
// was suspended under its name before is booked with the charge now.
func (k *known) followOwn(e evidence.Evidence) ([]step, *file) {
	if !e.Amount.IsZero() && e.Amount != k.row.Amount {
		return k.openCase(casework.AmountMismatch, e, false)
	}
	f := k.fileNamed(e.ProviderObjectID)
	certain := k.row.ProviderObjectID != nil && *k.row.ProviderObjectID == e.ProviderObjectID && e.Amount == k.row.Amount
	if f == nil || !certain || f.State != casework.Open || !f.Suspended {
		return nil, nil
	}
	to := f.Standing
	to.State, to.Resolution, to.WaitsFor = casework.Resolved, casework.Corrected, operation.Machine
	corrected := f.move(to, reasonCorrected)
	corrected.books = ledger.Reversal
	return []step{corrected}, f
}

// openCase opens a case, unless there is one of its kind and movement already. Without
// a name a movement is known by its amount.
func (k *known) openCase(kind casework.Kind, e evidence.Evidence, suspended bool) ([]step, *file) {
	said := e.Amount
	if kind == casework.FailedAfterCaptured {
		said = money.Amount{}
	}
	for _, f := range k.files {
		if kind == casework.FailedAfterCaptured && f.State.Closed() && e.AskedAt.After(f.UpdatedAt) {
			continue // asked since it was closed, so it is news
		}
		if f.Kind == kind && f.ProviderObjectID == e.ProviderObjectID && (f.ProviderObjectID != "" || f.Amount == said) {
			return nil, f
		}
	}
	f := &file{Case: casework.Case{
		PaymentID: k.row.PaymentID, OperationID: k.row.ID, Of: k.row.Kind, Kind: kind, ProviderAccount: k.row.ProviderAccount,
		Amount: said, Suspended: suspended, MovedBy: operation.Machine,
		Standing: casework.Standing{
			State: casework.Open, Plan: k.plan(kind, e, suspended), WaitsFor: operation.Machine, ProviderObjectID: e.ProviderObjectID, Version: 1,
		},
	}}
	if f.Plan == casework.PlanPerson {
		f.WaitsFor = operation.Person
	}
	k.files = append(k.files, f)
	opened := step{file: f, opens: true, from: f.Case, to: f.Standing, reason: string(e.Source)}
	if suspended {
		opened.books = ledger.Suspension
	}
	return []step{opened}, f
}
