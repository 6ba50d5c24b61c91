// Package settle gives a test's payments their outcomes through the packages that
// decide them, without a worker and without a provider.
//
//	test ──> settle ──> claim, outcome ──> final payment, stored answer
package settle

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

var publisher = outcome.Publisher{Topic: event.TopicsWithPrefix("payonce").Events, Source: event.Source("test")}

// Charge claims the charge of a payment that is created and commits the answer
// that a provider gave to it, without a name for what it took.
func Charge(t testing.TB, pool *pgxpool.Pool, view payment.View, verdict payment.Verdict) {
	t.Helper()
	charge(t, pool, view, evidence.Evidence{Verdict: verdict})
}

// Capture is Charge by a provider that took the money and named the movement, so that
// it can be refunded.
func Capture(t testing.TB, pool *pgxpool.Pool, view payment.View) {
	t.Helper()
	charge(t, pool, view, evidence.Evidence{Verdict: payment.VerdictCaptured, ProviderObjectID: "ch_" + view.ID.String()})
}

func charge(t testing.TB, pool *pgxpool.Pool, view payment.View, said evidence.Evidence) {
	t.Helper()
	var err error
	said.Amount, err = money.Parse(view.Amount, view.Currency)
	require.NoError(t, err)
	answered(t, pool, view.ID, view.OperationID, said)
}

// Refund does the same with a merchant's refund.
func Refund(t testing.TB, pool *pgxpool.Pool, view payment.RefundView, verdict payment.Verdict) {
	t.Helper()
	amount, err := money.Parse(view.Amount, view.Currency)
	require.NoError(t, err)
	answered(t, pool, view.PaymentID, view.ID, evidence.Evidence{Verdict: verdict, Amount: amount, ProviderObjectID: "re_" + view.ID.String()})
}

func answered(t testing.TB, pool *pgxpool.Pool, about, id uuid.UUID, said evidence.Evidence) {
	t.Helper()
	attempt := claim(t, pool, id)
	said.OperationID, said.Fence, said.Source, said.AskedAt = id, attempt.Fence, evidence.Answer, attempt.ClaimedAt
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		_, err := publisher.Apply(t.Context(), tx, []outcome.Outcome{{PaymentID: about, ClaimID: attempt.ClaimID, Learned: said}})
		return err
	}))
}

func claim(t testing.TB, pool *pgxpool.Pool, id uuid.UUID) operation.Attempt {
	t.Helper()
	var account string
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT provider_account FROM operation WHERE id = $1", id).Scan(&account))
	var attempts []operation.Attempt
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) (err error) {
		claim := operation.Claim{
			Worker: "settle", Served: []operation.Served{{Account: account, Recipe: "settle-1"}}, Lease: time.Minute,
		}
		attempts, err = claim.Claim(t.Context(), tx, []uuid.UUID{id})
		return err
	}))
	require.Len(t, attempts, 1, "operation %s could not be claimed", id)
	return attempts[0]
}
