package outcome

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// ErrNoSuchOperation is returned for an outcome of an operation that this
// database does not have.
var ErrNoSuchOperation = errors.New("no such operation")

// writes collects what a group of outcomes changes, so that any number of them
// costs one round trip.
type writes struct {
	learned  []evidence.Evidence
	finished []operation.Finished
	moves    [][]operation.Move // by depth: a row's second move follows its first
	ordered  []operation.Compensation
	cases    []caseWrite
	postings []ledger.Posting
	answers  []idempotency.Answer
	history  []operation.History
}

// learn adds an outcome to what is known and to what is stored.
func (w *writes) learn(k *known, o *Outcome) error {
	fence := o.Learned.Fence
	if k.isAnothers(o) {
		// Evidence of an answer belongs to an attempt, and this fence is the nearest.
		o.hearOnlyGoodNews()
		o.Learned.Fence = 0
	}
	if o.Learned.Fence != 0 && k.finish(o) {
		w.finished = append(w.finished, operation.Finished{OperationID: k.row.ID, Fence: fence, NotSent: o.NotSent, ClaimID: o.ClaimID})
	}
	if stands, ok := k.standsFor(fence); ok {
		fence = stands
		o.hearOnlyGoodNews()
	}
	if o.NotSent {
		return nil
	}
	for _, word := range o.words() {
		id, err := uuid.NewV7()
		if err != nil {
			return fmt.Errorf("naming evidence: %w", err)
		}
		word.ID, word.Fence = id, fence
		k.evidence = append(k.evidence, word)
		w.learned = append(w.learned, word)
	}
	return nil
}

// isAnothers reports whether the attempt at an outcome's fence was made by another claim.
// The outcome then has no attempt of its own here, and none of an attempt's powers.
func (k *known) isAnothers(o *Outcome) bool {
	return o.Learned.Fence != 0 && slices.ContainsFunc(k.attempts, func(a operation.PastAttempt) bool {
		return a.Fence == o.Learned.Fence && a.ClaimID != o.ClaimID
	})
}

// neverWas reports "not sent" of a claim that there is no attempt of, and that nothing
// stands for: it rolled back. It says nothing about the operation. The story of one
// that was heard: the commit of a claim fails; another worker claims at the same fence,
// and its request is on the wire; the first one's "not sent" comes, the operation goes
// back to created, and is charged once more.
func (k *known) neverWas(o Outcome) bool {
	if !o.NotSent {
		return false
	}
	_, lost := k.standsFor(o.Learned.Fence)
	return !lost && !slices.ContainsFunc(k.attempts, func(a operation.PastAttempt) bool {
		return a.Fence == o.Learned.Fence && a.ClaimID == o.ClaimID
	})
}

// finish ends the attempt that an outcome answers and reports whether it was
// still open. What an attempt told about itself first is what counts: "not sent"
// after it is not believed, and kept as evidence that proves nothing.
func (k *known) finish(o *Outcome) bool {
	for i := range k.attempts {
		a := &k.attempts[i]
		switch {
		case a.Fence != o.Learned.Fence:
		case !a.Finished:
			a.Finished, a.NotSent = true, o.NotSent
			return true
		case o.NotSent && !a.NotSent:
			o.NotSent, o.Learned.Verdict = false, payment.VerdictUnclear
		}
	}
	return false
}

// standsFor returns the fence of the attempt that stands for one which tells of itself
// and is not remembered. Evidence of an answer belongs to an attempt, and to which one
// it was nothing else is left.
func (k *known) standsFor(fence int64) (int64, bool) {
	if fence == 0 || slices.ContainsFunc(k.attempts, func(a operation.PastAttempt) bool { return a.Fence == fence }) {
		return 0, false
	}
	for _, a := range k.attempts {
		if a.Lost && a.Fence > fence {
			return a.Fence, true
		}
	}
	return 0, false
}

// hearOnlyGoodNews leaves of what a lost attempt tells that the provider has the
// operation. Its no is about itself, and would be taken for one about all that was lost.
func (o *Outcome) hearOnlyGoodNews() {
	if o.NotSent || saysNo(o.Learned) {
		o.NotSent, o.Learned.Verdict, o.Learned.CoversEarlier = false, payment.VerdictUnclear, false
	}
}

func (w *writes) book(moved operation.Locked) {
	posting := ledger.Charge
	if moved.RefundReference != nil {
		posting = ledger.Refund
	}
	w.postings = append(w.postings, posting(moved.ID, moved.MerchantID, moved.ProviderAccount, moved.Amount))
}

// send writes everything in the order in which one thing rests on another:
// evidence before the moves that need it, moves before the cases that rest on them,
// and all of it before postings and answers.
func (w *writes) send(ctx context.Context, tx pgx.Tx) error {
	var batch pgx.Batch
	evidence.Queue(&batch, w.learned)
	operation.QueueFinished(&batch, w.finished)
	for _, moves := range w.moves {
		operation.QueueMoves(&batch, moves)
	}
	for _, c := range w.ordered {
		operation.QueueCompensation(&batch, c)
	}
	for _, c := range w.cases {
		c.queue(&batch)
	}
	ledger.Queue(&batch, w.postings)
	if len(w.answers) > 0 {
		idempotency.QueueAnswers(&batch, w.answers)
	}
	if err := operation.QueueHistory(&batch, w.history); err != nil {
		return err
	}
	var events []event.Event
	for _, h := range w.history {
		if h.Event != nil {
			events = append(events, *h.Event)
		}
	}
	if err := outbox.Queue(&batch, events); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("writing outcomes: %w", err)
	}
	return nil
}
