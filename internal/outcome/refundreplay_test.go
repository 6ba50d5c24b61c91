package outcome

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// TestP3_TheDatabaseTakesWhateverIsDecidedOfRefunds tells PostgreSQL stories about three
// refunds of one payment, and its charge. The guards must never refuse what decide
// decided, the payment counts what has not failed, and the merchant is owed the rest.
func TestP3_TheDatabaseTakesWhateverIsDecidedOfRefunds(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	_, err := database.Owner.Exec(t.Context(), storyClock)
	require.NoError(t, err)
	rapid.Check(t, func(rt *rapid.T) {
		r := &replay{account: "story-" + uuid.NewString()[:8], ctx: t.Context()}
		r.capture(t, database)
		for i, minor := range []int64{300, 300, 400} {
			r.payments = append(r.payments, fixture.Refund(t, database.App, r.payments[0], fmt.Sprint("R-", i), minor))
		}
		r.now = time.Now().UTC().Truncate(time.Microsecond)
		tx, err := database.App.Begin(t.Context())
		require.NoError(rt, err)
		defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
		r.tx = tx
		r.setClock(rt)
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			r.know(rt)
			r.stepRefunds(rt)
			r.checkRefunds(rt)
		}
	})
}

// capture commits a payment that was captured as ch_1.
func (r *replay) capture(t *testing.T, database *testkit.Database) {
	t.Helper()
	p := fixture.Accept(t, database.App, fixture.WithAccount(r.account))
	r.payments = append(r.payments, p)
	var attempts []operation.Attempt
	require.NoError(t, pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) (err error) {
		attempts, err = r.claims().Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
		return err
	}))
	require.Len(t, attempts, 1)
	require.NoError(t, pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
		_, err := storyPublisher.Apply(t.Context(), tx, []Outcome{{PaymentID: p.PaymentID, ClaimID: attempts[0].ClaimID, Learned: evidence.Evidence{
			OperationID: p.OperationID, Source: evidence.Answer, Fence: 1, Verdict: payment.VerdictCaptured, Amount: p.Amount,
			ProviderObjectID: "ch_1", AskedAt: time.Now().UTC(),
		}}})
		return err
	}))
}

func (r *replay) claims() operation.Claim {
	return operation.Claim{
		Worker: "worker", Lease: storyLease, Allowance: storyAllowance,
		Served: []operation.Served{{Account: r.account, Recipe: "recipe/1", Horizon: storyHorizon}},
	}
}

// know reads the rows as they are: this story has no second telling.
func (r *replay) know(t *rapid.T) {
	var ids []uuid.UUID
	for _, p := range r.payments {
		ids = append(ids, p.OperationID)
	}
	rows, err := operation.Lock(r.ctx, r.tx, ids)
	require.NoError(t, err)
	attempts, err := operation.Attempts(r.ctx, r.tx, ids)
	require.NoError(t, err)
	r.cast = nil
	for _, row := range rows {
		r.cast = append(r.cast, &known{row: row, attempts: attempts[row.ID]})
	}
}

func (r *replay) stepRefunds(t *rapid.T) {
	k := r.cast[rapid.IntRange(0, len(r.cast)-1).Draw(t, "whom")]
	var err error
	kind := rapid.SampledFrom([]actionKind{
		wait, message, message, due, order, look, takeOver, tell, tell, tell, tell, carry, judge,
	}).Draw(t, "kind")
	switch kind {
	case message:
		_, err = r.claims().Claim(r.ctx, r.tx, []uuid.UUID{k.row.ID})
	case due:
		_, err = r.claims().ClaimDue(r.ctx, r.tx, manyEnough)
	case order:
		_, err = operation.OrderResend(r.ctx, r.tx, operation.Stand{OperationID: k.row.ID, Fence: k.row.Fence})
	case look:
		_, err = operation.TakeChecks(r.ctx, r.tx, []string{r.account}, manyEnough, storyLease)
	case takeOver:
		_, err = storyPublisher.TakeOver(r.ctx, r.tx, []string{r.account}, manyEnough)
	case tell:
		outcomes := []Outcome{r.drawOutcome(t, k)}
		if rapid.Bool().Draw(t, "more") {
			outcomes = append(outcomes, r.drawOutcome(t, r.cast[rapid.IntRange(0, len(r.cast)-1).Draw(t, "whose")]))
		}
		_, err = storyPublisher.Apply(r.ctx, r.tx, outcomes)
	case carry, judge:
		err = r.stepCase(t, k, kind)
	default:
		r.now = r.now.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(t, "ms")) * time.Millisecond)
		r.setClock(t)
	}
	require.NoError(t, err, "the database refuses what was decided: %s", kind)
}

func (r *replay) stepCase(t *rapid.T, k *known, kind actionKind) error {
	cases, err := casework.OfOperations(r.ctx, r.tx, []uuid.UUID{k.row.ID}, nil)
	if err != nil || len(cases) == 0 {
		return err
	}
	c := rapid.SampledFrom(cases).Draw(t, "case")
	if kind == judge {
		choice := rapid.SampledFrom([]casework.Action{casework.Refund, casework.Adopt, casework.Dismiss}).Draw(t, "choice")
		_, err := casework.Decide(r.ctx, r.tx, c.ID, casework.Decision{Action: choice, Version: c.Version, Who: "ada", Reason: "seen at the provider"})
		if errors.Is(err, casework.ErrDoesNotFit) || errors.Is(err, casework.ErrNotOpen) {
			return nil
		}
		return err
	}
	if !isDue(&file{Case: c}) {
		return nil
	}
	_, err = storyPublisher.CarryOut(r.ctx, r.tx, casework.Due{
		CaseID: c.ID, PaymentID: c.PaymentID, OperationID: c.OperationID, Of: c.Of, Plan: c.Plan, Version: c.Version,
	}, provider.Capabilities{Refunds: true})
	return err
}

func (r *replay) checkRefunds(t *rapid.T) {
	_, err := r.tx.Exec(r.ctx, "SET CONSTRAINTS ALL IMMEDIATE") // what a commit would check
	require.NoError(t, err)
	_, err = r.tx.Exec(r.ctx, "SET CONSTRAINTS ALL DEFERRED")
	require.NoError(t, err)
	p := r.payments[0]
	counted := r.count(t, `SELECT coalesce(sum(amount_minor), 0) FROM operation
		WHERE payment_id = $1 AND refund_reference IS NOT NULL AND state NOT IN ('failed', 'canceled')`, p.PaymentID)
	require.Equal(t, counted, r.count(t, "SELECT refunded_minor FROM payment WHERE id = $1", p.PaymentID))
	require.LessOrEqual(t, counted, 1000)
	given := r.count(t, `SELECT coalesce(sum(amount_minor), 0) FROM operation
		WHERE payment_id = $1 AND refund_reference IS NOT NULL AND state = 'succeeded'`, p.PaymentID)
	owed := r.count(t, "SELECT -sum(amount_minor) FROM ledger_entry WHERE account = $1", ledger.PayableAccount(p.MerchantID))
	require.Equal(t, 1000-given, owed)
}
