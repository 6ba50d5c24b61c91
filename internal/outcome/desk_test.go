package outcome_test

import (
	"context"
	"crypto/sha256"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

const (
	lease     = 10 * time.Second
	allowance = 5 * time.Second
)

var publisher = outcome.Publisher{Topic: "payonce.events", Source: fixture.Source}

// desk is one test's database, with a worker and a reconciler played by the test.
type desk struct {
	*testkit.Database
	t    testing.TB
	pool *pgxpool.Pool
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	database := testkit.NewDatabase(t)
	return &desk{Database: database, t: t, pool: database.App}
}

// within runs f in a transaction of its own and commits it.
func within[Result any](d *desk, f func(context.Context, pgx.Tx) (Result, error)) (Result, error) {
	var result Result
	err := pgx.BeginFunc(d.t.Context(), d.pool, func(tx pgx.Tx) (err error) {
		result, err = f(d.t.Context(), tx)
		return err
	})
	return result, err
}

var claim = operation.Claim{
	Worker: "worker-1", Lease: lease, Allowance: allowance,
	Served: []operation.Served{{Account: fixture.Account, Recipe: "recipe/1", Horizon: time.Hour}},
}

// claimed accepts and claims one payment.
func (d *desk) claimed(options ...fixture.Option) (operation.NewPayment, operation.Attempt) {
	d.t.Helper()
	p := fixture.Accept(d.t, d.pool, options...)
	return p, d.claimAgain(p)
}

func (d *desk) claimAgain(p operation.NewPayment) operation.Attempt {
	d.t.Helper()
	attempts, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) {
		return claim.Claim(ctx, tx, []uuid.UUID{p.OperationID})
	})
	require.NoError(d.t, err)
	require.Len(d.t, attempts, 1)
	return attempts[0]
}

// resent orders a resend of an unknown operation and claims it.
func (d *desk) resent(p operation.NewPayment) operation.Attempt {
	d.t.Helper()
	ordered, err := operation.OrderResend(d.t.Context(), d.pool, operation.Stand{OperationID: p.OperationID, Fence: d.row(p).Fence})
	require.NoError(d.t, err)
	require.True(d.t, ordered)
	attempts, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) { return claim.ClaimDue(ctx, tx, 10) })
	require.NoError(d.t, err)
	require.Len(d.t, attempts, 1)
	return attempts[0]
}

// change adjusts an outcome before it is told.
type change func(*outcome.Outcome)

// answer is what a worker tells about its attempt.
func answer(a operation.Attempt, v payment.Verdict, changes ...change) outcome.Outcome {
	o := outcome.Outcome{PaymentID: a.PaymentID, ClaimID: a.ClaimID, Learned: evidence.Evidence{
		OperationID: a.OperationID, Fence: a.Fence, Source: evidence.Answer, Verdict: v, AskedAt: a.ClaimedAt, Hash: sha256.Sum256(nil),
	}}
	return changed(o, a.Amount, changes)
}

// word is what anyone else tells, asked now.
func (d *desk) word(p operation.NewPayment, s evidence.Source, v payment.Verdict, changes ...change) outcome.Outcome {
	d.t.Helper()
	o := outcome.Outcome{PaymentID: p.PaymentID, Learned: evidence.Evidence{
		OperationID: p.OperationID, Source: s, Verdict: v, AskedAt: d.row(p).Now, Hash: sha256.Sum256(nil),
	}}
	return changed(o, p.Amount, changes)
}

func changed(o outcome.Outcome, amount money.Amount, changes []change) outcome.Outcome {
	if o.Learned.Verdict == payment.VerdictCaptured {
		o.Learned.Amount = amount
	}
	for _, c := range changes {
		c(&o)
	}
	return o
}

func notSent(o *outcome.Outcome) { o.NotSent = true }
func settle(o *outcome.Outcome)  { o.Settle = true }

// authoritative lets a no cover what could have been sent until it was asked for.
func authoritative(o *outcome.Outcome) { o.Learned.CoversUntil = o.Learned.AskedAt }

func because(reason string) change { return func(o *outcome.Outcome) { o.Learned.Reason = reason } }

func of(minor int64, currency money.Currency) change {
	return func(o *outcome.Outcome) {
		amount, err := money.New(minor, currency)
		if err != nil {
			panic(err) // only beyond MinorMax
		}
		o.Learned.Amount = amount
	}
}

func (d *desk) tryToApply(outcomes ...outcome.Outcome) ([]outcome.Applied, error) {
	return within(d, func(ctx context.Context, tx pgx.Tx) ([]outcome.Applied, error) {
		return publisher.Apply(ctx, tx, outcomes)
	})
}

// apply commits outcomes and returns what the last one did.
func (d *desk) apply(outcomes ...outcome.Outcome) outcome.Applied {
	d.t.Helper()
	applied, err := d.tryToApply(outcomes...)
	require.NoError(d.t, err)
	require.Len(d.t, applied, len(outcomes))
	return applied[len(applied)-1]
}

func (d *desk) takeOver() []outcome.Applied {
	d.t.Helper()
	applied, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]outcome.Applied, error) {
		return publisher.TakeOver(ctx, tx, []string{fixture.Account}, 100)
	})
	require.NoError(d.t, err)
	return applied
}

func (d *desk) expire() (expired []outcome.Applied, doorOpen []operation.Locked) {
	d.t.Helper()
	expired, err := within(d, func(ctx context.Context, tx pgx.Tx) (e []outcome.Applied, err error) {
		e, doorOpen, err = publisher.Expire(ctx, tx, []string{fixture.Account}, 100)
		return e, err
	})
	require.NoError(d.t, err)
	return expired, doorOpen
}

func (d *desk) row(p operation.NewPayment) operation.Locked {
	d.t.Helper()
	rows, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Locked, error) {
		return operation.Lock(ctx, tx, []uuid.UUID{p.OperationID})
	})
	require.NoError(d.t, err)
	require.Len(d.t, rows, 1)
	return rows[0]
}

// stands requires an operation's state and reason, and its payment's.
func (d *desk) stands(p operation.NewPayment, state payment.OperationState, reason string) {
	d.t.Helper()
	row := d.row(p)
	require.Equal(d.t, state, row.State)
	require.Equal(d.t, state.PaymentState(), row.Payment.State)
	if reason == "" {
		require.Nil(d.t, row.Reason)
		return
	}
	require.Equal(d.t, &reason, row.Reason)
}

// told are the types of a payment's events after its PaymentRequested, as they
// will be published.
func (d *desk) told(p operation.NewPayment) []event.Type {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), `SELECT h.event_type FROM outbox o JOIN payment_history h USING (event_id)
		WHERE o.key = $1 AND o.topic = 'payonce.events' ORDER BY o.seq`, p.PaymentID)
	require.NoError(d.t, err)
	types, err := pgx.CollectRows(rows, pgx.RowTo[event.Type])
	require.NoError(d.t, err)
	return types
}

func (d *desk) count(sql string, args ...any) int {
	d.t.Helper()
	var n int
	require.NoError(d.t, d.pool.QueryRow(d.t.Context(), sql, args...).Scan(&n))
	return n
}

func (d *desk) evidence(p operation.NewPayment) int {
	d.t.Helper()
	return d.count("SELECT count(*) FROM evidence WHERE operation_id = $1", p.OperationID)
}

func (d *desk) postings(p operation.NewPayment) int {
	d.t.Helper()
	return d.count("SELECT count(DISTINCT (operation_id, purpose)) FROM ledger_entry WHERE operation_id = $1", p.OperationID)
}
