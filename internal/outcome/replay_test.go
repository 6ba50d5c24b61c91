package outcome

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// storyClock lets each transaction have its own time, in a setting of its own.
const storyClock = `CREATE OR REPLACE FUNCTION payonce_now() RETURNS timestamptz LANGUAGE sql VOLATILE
	AS $$SELECT coalesce(nullif(current_setting('story.now', true), '')::timestamptz, clock_timestamp())$$`

// TestP3_GoAndTheDatabaseAgree tells each story twice: in memory, and to
// PostgreSQL through the real statements. The rows must be the same after every
// step, and the database must never refuse what decide decided: the guards would
// otherwise turn evidence that could not be stored into payments that stand still.
func TestP3_GoAndTheDatabaseAgree(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	_, err := database.Owner.Exec(t.Context(), storyClock)
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		now := time.Now().UTC().Truncate(time.Microsecond)
		r := &replay{account: "story-" + uuid.NewString()[:8], story: story{now: now}}
		for range 3 {
			r.accept(t, rt, database)
		}
		tx, err := database.App.Begin(t.Context())
		require.NoError(rt, err)
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		r.tx, r.ctx = tx, t.Context()
		r.open(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			r.step(rt)
		}
		r.checkBooks(rt)
		r.checkHistory(rt)
	})
}

// replay is a story and the transaction in which it is told to PostgreSQL. It is
// rolled back in the end, so nothing of a story costs a sync of the disk.
type replay struct {
	story
	account  string
	payments []operation.NewPayment
	ctx      context.Context
	tx       pgx.Tx
	answers  map[uuid.UUID][]byte // the first stored answer of each payment
}

var storyPublisher = Publisher{Topic: "payonce.events", Source: fixture.Source}

func (r *replay) accept(t *testing.T, rt *rapid.T, database *testkit.Database) {
	before := drawChargeBefore(rt, r.now)
	p := fixture.Accept(t, database.App, fixture.WithAccount(r.account), func(p *operation.NewPayment) { p.ChargeBefore = before })
	r.payments = append(r.payments, p)
}

func (r *replay) open(t *rapid.T) {
	r.answers = map[uuid.UUID][]byte{}
	r.setClock(t)
	rows, err := operation.Lock(r.ctx, r.tx, r.operations())
	require.NoError(t, err)
	for _, row := range rows {
		r.cast = append(r.cast, &known{row: row})
	}
}

func (r *replay) setClock(t *rapid.T) {
	_, err := r.tx.Exec(r.ctx, "SELECT set_config('story.now', $1, true)", r.now.Format(time.RFC3339Nano))
	require.NoError(t, err)
}

func (r *replay) step(t *rapid.T) {
	a := r.draw(t)
	before := r.standings()
	want := r.happens(a, 0)
	applied := r.tellDatabase(t, a)
	r.check(t, a, before, applied)
	require.Equal(t, want, applied)
	r.compare(t, before)
	r.checkAnswers(t)
}

// tellDatabase lets an action happen in PostgreSQL.
func (r *replay) tellDatabase(t *rapid.T, a action) []Applied {
	accounts := []string{r.account}
	claim := operation.Claim{
		Worker: "worker", Lease: storyLease, Allowance: storyAllowance,
		Served: []operation.Served{{Account: r.account, Recipe: "recipe/1", Horizon: storyHorizon}},
	}
	var applied []Applied
	var err error
	switch k := r.cast[a.whom]; a.kind {
	case wait:
		r.setClock(t)
	case message:
		_, err = claim.Claim(r.ctx, r.tx, []uuid.UUID{k.row.ID})
	case due:
		_, err = claim.ClaimDue(r.ctx, r.tx, 10)
	case order:
		_, err = operation.OrderResend(r.ctx, r.tx, operation.Stand{OperationID: k.row.ID, Fence: a.fence})
	case look:
		_, err = operation.TakeChecks(r.ctx, r.tx, accounts, 10, storyLease)
	case takeOver:
		_, err = storyPublisher.TakeOver(r.ctx, r.tx, accounts, 10)
	case expire:
		_, _, err = storyPublisher.Expire(r.ctx, r.tx, accounts, 10)
	case tell:
		applied, err = storyPublisher.Apply(r.ctx, r.tx, a.outcomes)
	}
	require.NoError(t, err, "the database refuses what was decided: %s", a.kind)
	return applied
}

// compare holds the rows in PostgreSQL against the story.
func (r *replay) compare(t *rapid.T, before []operation.Standing) {
	rows, err := operation.Lock(r.ctx, r.tx, r.operations())
	require.NoError(t, err)
	attempts, err := operation.Attempts(r.ctx, r.tx, r.operations())
	require.NoError(t, err)
	for i, row := range rows {
		k := r.cast[i]
		if row.State == payment.OperationCreated && before[i].State != payment.OperationCreated {
			sooner, later := k.row.NextAttemptAt.Sub(r.now), row.NextAttemptAt.Sub(r.now)
			require.True(t, sooner <= later && later <= 2*sooner, "a retry after %s, at least %s", later, sooner)
			k.row.NextAttemptAt = row.NextAttemptAt // the jitter is the database's
		}
		require.Equal(t, utc(k.row.Standing), utc(row.Standing))
		require.Equal(t, row.State.PaymentState(), row.Payment.State)
		require.Len(t, attempts[row.ID], len(k.attempts))
		for j, a := range attempts[row.ID] {
			a.ClaimedAt, a.LeaseUntil, a.LastPossibleSend = a.ClaimedAt.UTC(), a.LeaseUntil.UTC(), a.LastPossibleSend.UTC()
			require.Equal(t, k.attempts[j], a)
		}
	}
}

func utc(s operation.Standing) operation.Standing {
	for _, at := range []**time.Time{&s.LeaseUntil, &s.NextAttemptAt, &s.NextCheckAt, &s.OpenSince} {
		if *at != nil {
			*at = new((*at).UTC())
		}
	}
	return s
}

// checkAnswers: a payment has a stored answer once it is final, which is what GET
// shows at that moment, and never another one (P6, I4).
func (r *replay) checkAnswers(t *rapid.T) {
	rows, err := r.tx.Query(r.ctx, "SELECT resource_id, body FROM idempotency_key WHERE resource_id = ANY ($1)", r.ids())
	require.NoError(t, err)
	stored := map[uuid.UUID][]byte{}
	var id uuid.UUID
	var body []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &body}, func() error {
		stored[id] = slices.Clone(body)
		return nil
	})
	require.NoError(t, err)
	require.Len(t, stored, len(r.payments))
	for i, p := range r.payments {
		body, first := stored[p.PaymentID], r.answers[p.PaymentID]
		switch {
		case !r.cast[i].row.State.Final():
			require.Empty(t, body)
		case first != nil:
			require.Equal(t, string(first), string(body))
		default:
			views, err := operation.Views(r.ctx, r.tx, p.MerchantID, []uuid.UUID{p.PaymentID})
			require.NoError(t, err)
			shown, err := views[p.PaymentID].Encode()
			require.NoError(t, err)
			require.Equal(t, string(shown), string(body))
			r.answers[p.PaymentID] = body
		}
	}
}

// checkBooks: what succeeded is booked once, and nothing else is (P4, L1). An
// invoice is free when its payment failed, and only then (I9).
func (r *replay) checkBooks(t *rapid.T) {
	var want int64
	for _, k := range r.cast {
		lines, held := 0, 1
		switch k.row.State {
		case payment.OperationSucceeded:
			lines, want = 2, want+k.row.Amount.Minor()
		case payment.OperationFailed:
			held = 0
		case payment.OperationCreated, payment.OperationProcessing, payment.OperationPending, payment.OperationUnknown,
			payment.OperationCanceled:
		}
		require.Equal(t, lines, r.count(t, "SELECT count(*) FROM ledger_entry WHERE operation_id = $1", k.row.ID))
		require.Equal(t, held, r.count(t, "SELECT count(*) FROM invoice_identity WHERE payment_id = $1", k.row.PaymentID))
	}
	balances, err := ledger.Balances(r.ctx, r.tx)
	require.NoError(t, err)
	var sum, clearing int64
	for _, b := range balances {
		sum += b.Minor
		if b.Account == ledger.ClearingAccount(r.account) {
			clearing = b.Minor
		}
	}
	require.Zero(t, sum)
	require.Equal(t, want, clearing)
}

// checkHistory: history is a path of arrows from accept to now, in which claims
// are not told, and each event in it is in the outbox, in the same order (P5).
func (r *replay) checkHistory(t *rapid.T) {
	type entry struct {
		From  *payment.OperationState
		To    payment.OperationState
		Fence int64
		Event *uuid.UUID
	}
	for _, k := range r.cast {
		rows, err := r.tx.Query(r.ctx, `SELECT from_state, to_state, fence, event_id FROM payment_history
			WHERE payment_id = $1 ORDER BY seq`, k.row.PaymentID)
		require.NoError(t, err)
		path, err := pgx.CollectRows(rows, pgx.RowToStructByPos[entry])
		require.NoError(t, err)
		require.Nil(t, path[0].From)
		at, fence := path[0].To, int64(0)
		var told []uuid.UUID
		for i, e := range path {
			if i > 0 {
				claimed := at == payment.OperationCreated && *e.From == payment.OperationProcessing
				require.True(t, *e.From == at || claimed, "%s, then from %s", at, *e.From)
				require.True(t, arrow(*e.From, e.To), "%s -> %s", *e.From, e.To)
			}
			require.GreaterOrEqual(t, e.Fence, fence)
			if e.Event != nil {
				told = append(told, *e.Event)
			}
			at, fence = e.To, e.Fence
		}
		claimed := at == payment.OperationCreated && k.row.State == payment.OperationProcessing
		require.True(t, at == k.row.State || claimed, "history ends in %s, the operation is %s", at, k.row.State)
		rows, err = r.tx.Query(r.ctx, "SELECT event_id FROM outbox WHERE key = $1 ORDER BY seq", k.row.PaymentID)
		require.NoError(t, err)
		appended, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		require.NoError(t, err)
		require.Equal(t, told, appended)
	}
}

func (r *replay) count(t *rapid.T, sql string, args ...any) int {
	var n int
	require.NoError(t, r.tx.QueryRow(r.ctx, sql, args...).Scan(&n))
	return n
}

func (r *replay) operations() []uuid.UUID {
	ids := make([]uuid.UUID, len(r.payments))
	for i, p := range r.payments {
		ids[i] = p.OperationID
	}
	return ids
}

func (r *replay) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(r.payments))
	for i, p := range r.payments {
		ids[i] = p.PaymentID
	}
	return ids
}
