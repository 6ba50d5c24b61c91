package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// shortchanging says that it took another amount than it was asked for.
type shortchanging struct {
	provider.Connector

	took money.Amount
}

func (s shortchanging) Inquire(context.Context, provider.Operation) provider.Answer {
	return provider.Answer{Verdict: payment.VerdictCaptured, Amount: s.took, ObjectID: "ch_1"}
}

func TestU6_ALookLeavesAnotherAmountToAPersonEachTimeThatItIsAskedFor(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	claimAndVanish(t, r, p)
	r.DB.SetNow(t, time.Minute)
	_, err := r.Reconciler.TakeOver(t.Context())
	require.NoError(t, err)
	less, err := money.New(p.Amount.Minor()-1, p.Amount.Currency())
	require.NoError(t, err)
	r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: shortchanging{r.Connector, less}}
	for _, checked := range []time.Duration{2 * time.Minute, 3 * time.Minute, time.Hour} {
		r.DB.SetNow(t, checked)
		state, fence, _ := r.Operation(p)
		require.Equal(t, payment.OperationUnknown, state)
		due, err := operation.LookAgain(t.Context(), r.DB.App, operation.Stand{OperationID: p.OperationID, Fence: fence}, 0, operation.Machine)
		require.NoError(t, err)
		require.True(t, due)
		looked, err := r.Reconciler.Look(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, looked)
		_, _, reason := r.Operation(p)
		require.Equal(t, outcome.ReasonAmountMismatch, reason)
		require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE id = $1 AND waits_for = 'person'", p.OperationID), "after %s", checked)
	}
	require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_case"))
}
