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

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
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
		r := &replay{account: "story-" + uuid.NewString()[:8], story: story{now: now, taken: map[uuid.UUID]bool{}}}
		for range 3 {
			r.accept(t, rt, database)
		}
		tx, err := database.App.Begin(t.Context())
		require.NoError(rt, err)
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		r.tx, r.ctx = tx, t.Context()
		r.open(rt)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
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

// manyEnough operations are all that a story brings forth.
const manyEnough = 1000

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
	if a.kind == wait {
		r.happens(a, 0)
		r.setClock(t)
		return
	}
	applied := r.tellDatabase(t, &a)
	want := r.happens(a, 0)
	r.check(t, a, before, applied)
	r.compareCases(t)
	r.checkCases(t)
	require.Equal(t, want, withoutCases(applied))
	r.compare(t, before)
	r.checkAnswers(t)
}

// withoutCases leaves out names that both tellings give by chance.
func withoutCases(applied []Applied) []Applied {
	for i := range applied {
		applied[i].CaseID = uuid.Nil
	}
	return applied
}

// tellDatabase lets an action happen in PostgreSQL.
func (r *replay) tellDatabase(t *rapid.T, a *action) []Applied {
	accounts := []string{r.account}
	claim := operation.Claim{
		Worker: "worker", Lease: storyLease, Allowance: storyAllowance,
		Served: []operation.Served{{Account: r.account, Recipe: "recipe/1", Horizon: storyHorizon}},
	}
	var applied []Applied
	var err error
	switch k := r.cast[a.whom]; a.kind {
	case wait:
	case rival:
		err = r.competeFor(k)
	case carry:
		a.by, err = r.carryInDatabase(k.files[a.file], a.can)
	case judge:
		err = r.judgeInDatabase(t, a)
	case message:
		_, err = claim.Claim(r.ctx, r.tx, []uuid.UUID{k.row.ID})
	case due:
		_, err = claim.ClaimDue(r.ctx, r.tx, manyEnough)
	case order:
		_, err = operation.OrderResend(r.ctx, r.tx, operation.Stand{OperationID: k.row.ID, Fence: a.fence})
	case look:
		_, err = operation.TakeChecks(r.ctx, r.tx, accounts, manyEnough, storyLease)
	case takeOver:
		_, err = storyPublisher.TakeOver(r.ctx, r.tx, accounts, manyEnough)
	case expire:
		_, _, err = storyPublisher.Expire(r.ctx, r.tx, accounts, manyEnough)
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
	for _, row := range rows {
		i := slices.IndexFunc(r.cast, func(k *known) bool { return k.row.ID == row.ID })
		k := r.cast[i]
		isNew := i >= len(before)
		if !isNew && row.State == payment.OperationCreated && before[i].State != payment.OperationCreated {
			k.row.NextAttemptAt = r.jittered(t, k.row.NextAttemptAt, row.NextAttemptAt)
		}
		answered := !isNew && before[i].LeaseUntil != nil && row.LeaseUntil == nil && row.Fence == before[i].Fence
		if answered && row.State == payment.OperationUnknown {
			// An attempt's own no, while another one is open.
			k.row.NextCheckAt = r.jittered(t, k.row.NextCheckAt, row.NextCheckAt)
		}
		require.Equal(t, utc(k.row.Standing), utc(row.Standing))
		if row.Kind == payment.KindCharge {
			require.Equal(t, row.State.PaymentState(), row.Payment.State)
		}
		require.Len(t, attempts[row.ID], len(k.attempts))
		for j, a := range attempts[row.ID] {
			a.ClaimedAt, a.LeaseUntil, a.LastPossibleSend = a.ClaimedAt.UTC(), a.LeaseUntil.UTC(), a.LastPossibleSend.UTC()
			k.attempts[j].ClaimID = a.ClaimID // which the story does not make up
			require.Equal(t, k.attempts[j], a)
		}
	}
}

// jittered returns the time that the database's telling chose. The story's is the
// soonest that chance allows, and twice its distance the latest.
func (r *replay) jittered(t *rapid.T, soonest, chosen *time.Time) *time.Time {
	sooner, later := soonest.Sub(r.now), chosen.Sub(r.now)
	require.True(t, sooner <= later && later <= 2*sooner, "after %s, at least %s", later, sooner)
	return chosen
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
			WHERE operation_id = $1 ORDER BY seq`, k.row.ID)
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
				late := e.From.Final() && e.To == payment.OperationSucceeded // adopted, or a refund that took place after all
				require.True(t, arrow(*e.From, e.To) || late, "%s -> %s", *e.From, e.To)
			}
			require.GreaterOrEqual(t, e.Fence, fence)
			if e.Event != nil {
				told = append(told, *e.Event)
			}
			at, fence = e.To, e.Fence
		}
		claimed := at == payment.OperationCreated && k.row.State == payment.OperationProcessing
		require.True(t, at == k.row.State || claimed, "history ends in %s, the operation is %s", at, k.row.State)
		if k.row.CaseID != nil {
			require.Empty(t, told, "nobody is told of a case's refund")
			continue
		}
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
	if len(r.cast) == 0 {
		return postgres.Column(r.payments, func(p operation.NewPayment) uuid.UUID { return p.OperationID })
	}
	return postgres.Column(r.cast, func(k *known) uuid.UUID { return k.row.ID })
}

func (r *replay) ids() []uuid.UUID {
	ids := make([]uuid.UUID, len(r.payments))
	for i, p := range r.payments {
		ids[i] = p.PaymentID
	}
	return ids
}
