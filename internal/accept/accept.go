package accept

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// Accept takes the requests on, in the caller's transaction, and answers each, in
// their order, as if they had come one after the other. The answers hold once
// that transaction has committed.
//
// It waits for concurrent transactions that hold the same keys, invoices or
// external references, at most as long as lock_timeout. Any error means that the
// transaction must be rolled back; operation.ErrEntangled, operation.ErrNotHeld and
// idempotency.ErrKeyVanished mean besides that the requests should be tried again
// one by one.
func (r Rules) Accept(ctx context.Context, tx pgx.Tx, requests []Request) ([]Result, error) {
	candidates := make([]*candidate, len(requests))
	for i, request := range requests {
		var err error
		if candidates[i], err = newCandidate(request); err != nil {
			return nil, err
		}
	}
	if err := deriveKeys(ctx, tx, candidates); err != nil {
		return nil, err
	}
	// Of several requests with one key the first one decides what the key stands
	// for. Only when it is refused, and its key with it, does a different one
	// behind it get a try of its own.
	for pending := candidates; len(pending) > 0; {
		firsts, repeats := splitByKey(pending)
		if err := r.acceptFirsts(ctx, tx, firsts); err != nil {
			return nil, err
		}
		var err error
		if pending, err = r.settleRepeats(firsts, repeats); err != nil {
			return nil, err
		}
	}
	if err := show(ctx, tx, candidates); err != nil {
		return nil, err
	}
	results := make([]Result, len(candidates))
	for i, c := range candidates {
		results[i] = c.result
	}
	return results, nil
}

// acceptFirsts takes candidates with different keys through the tables, in the
// lock order: keys, identities, payments, operations.
func (r Rules) acceptFirsts(ctx context.Context, tx pgx.Tx, firsts []*candidate) error {
	if err := lookUp(ctx, tx, filter(firsts, (*candidate).barred)); err != nil {
		return err
	}
	admitted := filter(firsts, func(c *candidate) bool { return !c.barred() })
	if len(admitted) == 0 {
		return nil
	}
	records, err := idempotency.Reserve(ctx, tx, entries(admitted))
	if err != nil {
		return err
	}
	var fresh []*candidate
	for i, c := range admitted {
		if c.record = records[i]; c.fresh() && !r.refuse(c) {
			fresh = append(fresh, c)
		}
	}
	if err := holdIdentities(ctx, tx, fresh); err != nil {
		return err
	}
	if refused := filter(admitted, (*candidate).refused); len(refused) > 0 {
		if err := idempotency.Release(ctx, tx, entries(refused)); err != nil {
			return err
		}
	}
	return r.write(ctx, tx, filter(fresh, func(c *candidate) bool { return !c.refused() }))
}

// lookUp finds what the keys of barred requests stand for, and refuses those whose key
// is new. It reserves nothing: what may be card data is not written, not even to be
// taken back by the same transaction.
func lookUp(ctx context.Context, tx pgx.Tx, barred []*candidate) error {
	if len(barred) == 0 {
		return nil
	}
	records, err := idempotency.LookUp(ctx, tx, entries(barred))
	if err != nil {
		return err
	}
	for i, c := range barred {
		if records[i] == nil {
			c.result = Result{Outcome: OutcomeRefused, Refusal: c.request.barred}
		} else {
			c.record = *records[i]
		}
	}
	return nil
}

// refuse applies the rules that hold at the first acceptance only: a repeat of an
// accepted request is answered whatever the time and the configuration are now.
func (r Rules) refuse(c *candidate) bool {
	if r.expired(c, c.record.ReservedAt) {
		c.result = Result{Outcome: OutcomeExpired}
		return true
	}
	var invalid InvalidError
	if before := c.request.chargeBefore; before != nil && !before.After(c.record.ReservedAt) {
		invalid.add(FieldChargeBefore, "has passed")
	}
	if r.Chargeable != nil {
		if err := r.Chargeable(c.request.providerAccount, c.request.amount); err != nil {
			invalid.add(FieldAmount, err.Error())
		}
	}
	if len(invalid.Fields) == 0 {
		return false
	}
	c.result = Result{Outcome: OutcomeRefused, Refusal: &invalid}
	return true
}

// expired reports whether a request whose key is new may be a repeat that nobody
// remembers.
func (r Rules) expired(c *candidate, now time.Time) bool {
	window := cmp.Or(r.KeyWindow, idempotency.WindowDefault)
	return idempotency.Expired(c.entry.Key, now, window) || c.request.sentBefore(now.Add(-window))
}

// holdIdentities claims invoices and external references. Who does not get one is
// in conflict with the payment that has it.
func holdIdentities(ctx context.Context, tx pgx.Tx, fresh []*candidate) error {
	if len(fresh) == 0 {
		return nil
	}
	holders, err := operation.HoldIdentities(ctx, tx, payments(fresh))
	if err != nil {
		return err
	}
	for _, c := range fresh {
		if holder, taken := holders[c.payment.PaymentID]; taken {
			c.result = Result{Outcome: OutcomeConflicting, PaymentID: holder}
		}
	}
	return nil
}

// write makes the payments that nothing stands against, with the event that asks
// for their charge.
func (r Rules) write(ctx context.Context, tx pgx.Tx, accepted []*candidate) error {
	if len(accepted) == 0 {
		return nil
	}
	at, err := operation.Create(ctx, tx, payments(accepted))
	if err != nil {
		return err
	}
	history := make([]operation.History, len(accepted))
	for i, c := range accepted {
		c.result = Result{Outcome: OutcomeAccepted, PaymentID: c.payment.PaymentID}
		requested, err := r.requested(c.payment, at[c.payment.PaymentID])
		if err != nil {
			return err
		}
		history[i] = operation.History{
			PaymentID: c.payment.PaymentID, OperationID: c.payment.OperationID, To: payment.OperationCreated, Event: &requested,
		}
	}
	return record(ctx, tx, history)
}

// record sends what comes last in one round trip.
func record(ctx context.Context, tx pgx.Tx, history []operation.History) error {
	var batch pgx.Batch
	if err := tell(&batch, history...); err != nil {
		return err
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("recording %d accepted payments: %w", len(history), err)
	}
	return nil
}

// tell queues what happened, each with its event, for the history and for Kafka.
func tell(batch *pgx.Batch, history ...operation.History) error {
	if err := operation.QueueHistory(batch, history); err != nil {
		return err
	}
	return outbox.Queue(batch, postgres.Column(history, func(h operation.History) event.Event { return *h.Event }))
}
