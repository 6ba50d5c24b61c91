package casework_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var publisher = outcome.Publisher{Topic: "payonce.events", Source: fixture.Source}

// mismatched is a payment of which the provider says, under a name, that it took other
// money than was asked for: a case for a person.
func mismatched(t *testing.T, pool *pgxpool.Pool, options ...fixture.Option) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, pool, options...)
	other, err := p.Amount.Add(p.Amount)
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := publisher.Apply(t.Context(), tx, []outcome.Outcome{{PaymentID: p.PaymentID, Learned: evidence.Evidence{
			OperationID: p.OperationID, Source: evidence.Webhook, Verdict: payment.VerdictCaptured, Amount: other, ProviderObjectID: "ch_1",
			AskedAt: time.Now(),
		}}})
		return err
	}))
	return p
}

func list(t *testing.T, pool *pgxpool.Pool, f casework.Filter) []casework.Case {
	t.Helper()
	found, err := casework.List(t.Context(), pool, f)
	require.NoError(t, err)
	return found
}

func dismiss(c casework.Case) casework.Decision {
	return casework.Decision{Action: casework.Dismiss, Version: c.Version, Who: "ada", Reason: "sent back by hand"}
}

func TestCasesAreListedOldestFirstAndPageByPage(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	first := mismatched(t, db.App)
	mismatched(t, db.App)
	third := mismatched(t, db.App, fixture.WithAccount("sepa"))
	all := list(t, db.App, casework.Filter{})
	require.Len(t, all, 3)
	require.Equal(t, first.PaymentID, all[0].PaymentID)
	require.Equal(t, all[:2], list(t, db.App, casework.Filter{Limit: 2}))
	require.Equal(t, all[2:], list(t, db.App, casework.Filter{After: all[1].ID}))
	require.Equal(t, all[2:], list(t, db.App, casework.Filter{ProviderAccount: "sepa"}))
	require.Equal(t, all[2:], list(t, db.App, casework.Filter{PaymentID: third.PaymentID}))
	require.Equal(t, all, list(t, db.App, casework.Filter{WaitsFor: operation.Person}))
	require.Empty(t, list(t, db.App, casework.Filter{WaitsFor: operation.Machine}))

	_, err := casework.Decide(t.Context(), db.App, all[0].ID, dismiss(all[0]))
	require.NoError(t, err)
	require.Equal(t, all[1:], list(t, db.App, casework.Filter{}))
	require.Len(t, list(t, db.App, casework.Filter{Closed: true}), 3)
}

// A decision is part of whatever else its transaction writes, such as an audit line.
func TestADecisionThatIsRolledBackWasNotMade(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	p := mismatched(t, db.App)
	c := list(t, db.App, casework.Filter{PaymentID: p.PaymentID})[0]
	tx, err := db.App.Begin(t.Context())
	require.NoError(t, err)
	_, err = casework.Decide(t.Context(), tx, c.ID, dismiss(c))
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, []casework.Case{c}, list(t, db.App, casework.Filter{}))
}

func TestR7_CasesAreKeptThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	pool, err := postgres.Open(t.Context(), db.AppURL+"&default_query_exec_mode=exec", postgres.PoolOptions{})
	require.NoError(t, err)
	defer pool.Close()
	p := mismatched(t, pool)
	c := list(t, pool, casework.Filter{PaymentID: p.PaymentID})[0]
	c, err = casework.Decide(t.Context(), pool, c.ID, casework.Decision{Action: casework.Refund, Version: c.Version, Who: "ada", Reason: "not ours"})
	require.NoError(t, err)
	due, err := casework.TakeDue(t.Context(), pool, []string{fixture.Account}, 10, time.Minute)
	require.NoError(t, err)
	require.Equal(t, []casework.Due{{
		CaseID: c.ID, PaymentID: p.PaymentID, OperationID: p.OperationID, Plan: casework.PlanRefund, Version: 2, Of: payment.KindCharge,
	}}, due)
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := publisher.CarryOut(context.WithoutCancel(t.Context()), tx, due[0], provider.Capabilities{Refunds: true})
		return err
	}))
	detail, err := casework.Get(t.Context(), pool, c.ID)
	require.NoError(t, err)
	require.Equal(t, casework.Working, detail.State)
	require.Len(t, detail.Compensations, 1)
	require.NotEqual(t, uuid.Nil, detail.Compensations[0].OperationID)
	require.Len(t, detail.History, 3)
}
