package worker

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// launch sends each attempt by itself. started was read before the claim that
// made the attempts began: the stop-deadline counts from there, so that a slow
// commit shortens our time to send and never outlives the lease.
func (w *Worker) launch(ctx context.Context, attempts []operation.Attempt, started time.Time) {
	for _, a := range attempts {
		w.sends.Go(func() {
			c := w.circuit(a)
			defer c.release(1)
			// What was claimed is finished although the worker stops: the request's
			// own timeout bounds it.
			w.attempt(context.WithoutCancel(ctx), c, a, started)
		})
	}
}

func (w *Worker) attempt(ctx context.Context, c *circuit, a operation.Attempt, started time.Time) {
	stop := w.stopDeadline(c.gate, a, started)
	answer, asked := w.send(ctx, c, a, stop)
	if answer.Err != nil {
		w.log.Info("attempt brought no result", zap.Stringer("operation_id", a.OperationID), zap.Int64("fence", a.Fence),
			zap.String("provider_account", a.ProviderAccount), zap.String("reason", answer.Reason),
			zap.Bool("not_sent", answer.NotSent), zap.Error(answer.Err))
	}
	w.tell(ctx, learned(c.gate, a, answer, asked), started.Add(w.config.Lease))
}

// stopDeadline is the earliest of lease, chargeBefore and, for a resend, the
// key's horizon. The last two are on the database's clock and are carried over
// as durations from the claim, so that a wrong clock here cannot stretch them.
func (w *Worker) stopDeadline(g *gate, a operation.Attempt, started time.Time) provider.StopDeadline {
	within := w.config.Lease
	if a.ChargeBefore != nil {
		within = min(within, a.ChargeBefore.Sub(a.ClaimedAt))
	}
	if a.FirstClaimedAt.Before(a.ClaimedAt) {
		within = min(within, g.connector.Capabilities().Key.ResendUntil(a.FirstClaimedAt).Sub(a.ClaimedAt))
	}
	return provider.NewStopDeadline(started.Add(within))
}

// send asks the circuit once more and then makes the one money-moving request. It
// reports whether the answer is one to that request, and not to its preparation.
func (w *Worker) send(ctx context.Context, c *circuit, a operation.Attempt, stop provider.StopDeadline) (answer provider.Answer, asked bool) {
	report, refused, err := c.enter()
	if err != nil {
		return provider.Answer{NotSent: true, Reason: refused, Err: err}, false
	}
	op, answer, asked := w.prepare(ctx, c.gate, a, stop)
	if asked {
		answer = c.gate.connector.Send(ctx, op, stop)
	}
	report(answer)
	return answer, asked
}

// Why operations wait. ReasonBreakerOpen: their provider account answers too little.
// ReasonRateLimited: it asked for a pause. ReasonNoSlot: others are before them.
// ReasonNotServed: no worker that saw them serves the account. ReasonNotIdentified:
// the provider has not said yet which account our credentials open.
const (
	ReasonBreakerOpen   = "breaker-open"
	ReasonRateLimited   = "rate-limited"
	ReasonNoSlot        = "no-slot"
	ReasonNotServed     = "account-not-served"
	ReasonNotIdentified = "account-not-identified"
)

func request(a operation.Attempt) provider.Operation {
	op := provider.NewOperation(a.OperationID, a.Kind, a.Amount, a.ProviderObjectID)
	if a.PaymentMethod != nil {
		op.PaymentMethod = *a.PaymentMethod
	}
	if a.Customer != nil {
		op.Customer = *a.Customer
	}
	return op
}

// learned is what an attempt taught. Only the answer to the money-moving request speaks
// for earlier attempts too, because their key is the same. A preparation has another
// one, and an earlier attempt may have prepared and moved money under yet another.
func learned(g *gate, a operation.Attempt, answer provider.Answer, asked bool) outcome.Outcome {
	o := outcome.Outcome{
		PaymentID: a.PaymentID, ClaimID: a.ClaimID, NotSent: answer.NotSent, RetryAfter: answer.RetryAfter,
		Learned: outcome.Learned(a.OperationID, evidence.Answer, answer, a.ClaimedAt),
	}
	o.Learned.Fence = a.Fence
	o.Learned.CoversEarlier = asked && answer.Verdict == payment.VerdictDeclined && g.connector.Capabilities().Key.LaterDeclineCovers()
	return o
}

// The pauses between two tries to store an outcome, and the least time for them.
const (
	tellPauseMin = 50 * time.Millisecond
	tellPauseMax = 2 * time.Second
	tellLeast    = time.Second
)

// tell stores an outcome, through an outage of the database if need be, until
// well after the lease's end. Past that the operation has been taken over, the
// reconciler has asked the provider, and all that is lost is one more witness.
//
// A process that froze for longer than that has tellLeast. It must not be nothing:
// to backoff a limit of zero or less is none, and Drain would wait for ever.
func (w *Worker) tell(ctx context.Context, o outcome.Outcome, leaseEnd time.Time) {
	pause := &backoff.ExponentialBackOff{
		InitialInterval: tellPauseMin, MaxInterval: tellPauseMax, Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	applied, err := backoff.Retry(ctx, func() (outcome.Applied, error) {
		applied, err := w.applier.Do(ctx, o)
		if refused(err) {
			err = backoff.Permanent(err)
		}
		return applied, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(max(time.Until(leaseEnd)+w.config.Lease, tellLeast)))
	fields := []zap.Field{
		zap.Stringer("operation_id", o.Learned.OperationID), zap.Int64("fence", o.Learned.Fence), zap.Stringer("verdict", o.Learned.Verdict),
	}
	switch {
	case err != nil:
		w.log.Error("outcome not stored; the reconciler will ask the provider", append(fields, zap.Error(err))...)
	case applied.Contradiction:
		w.log.Error(outcome.ContradictionMessage, append(fields, zap.Stringer("case_id", applied.CaseID))...)
	}
}

// refused reports whether trying again cannot help.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.Is(err, groupcommit.ErrStopped) || errors.Is(err, outcome.ErrNoSuchOperation) ||
		(errors.As(err, &pg) && pg.Code == "23514") // check_violation: the database's guards
}
