package reconcile_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// elsewhere connects to another account of the simulated provider, as after a change
// of its URL.
func elsewhere(t *testing.T, name string) (*pspsim.Server, provider.Connector) {
	t.Helper()
	sim, err := pspsim.New(pspsim.Options{Account: "sim_2"})
	require.NoError(t, err)
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	connector, err := connectors.New(name, connectors.Options{Address: server.URL})
	require.NoError(t, err)
	return sim, connector
}

// The charge took place at the first account; at the second one "not found" is true,
// and would have failed a payment that was taken.
func TestU4_AnotherAccountAtTheProviderIsNeverAskedAboutWhatWasSentToTheFirst(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"simulated", "simulated-nokeys"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Connector: name, Faults: steps(t, "cut_after")})
			p := fixture.Accept(t, r.DB.App)
			r.DueNow(p)
			_, err := r.Worker.ScheduleOnce(t.Context())
			require.NoError(t, err)
			require.NoError(t, r.Worker.Drain(t.Context()))
			state, fence, _ := r.Operation(p)
			require.Equal(t, payment.OperationUnknown, state)

			configured := r.Reconciler.Accounts
			_, wrong := elsewhere(t, name)
			r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: wrong}
			r.DB.SetNow(t, time.Hour)
			looked, err := r.Reconciler.Look(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, looked)
			state, after, _ := r.Operation(p)
			require.Equal(t, payment.OperationUnknown, state, "it waits, visibly")
			require.Equal(t, fence, after)
			require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE source <> 'answer'"), "nothing was asked")

			r.Reconciler.Accounts = configured
			r.DB.SetNow(t, 2*time.Hour)
			r.StartReconciler()
			r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
			charged, sends := r.Charged(p)
			require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
		})
	}
}

func TestP1_WhatWasBegunAtOneAccountIsNotSentToAnother(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "too_many")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Worker.Drain(t.Context()))
	state, _, _ := r.Operation(p)
	require.Equal(t, payment.OperationCreated, state)

	r.DueNow(p)
	require.Zero(t, claimBy(t, r, "simulated/1@sim_2"))
	_, _, reason := r.Operation(p)
	require.Equal(t, operation.ReasonHeldBack, reason, "and says so")
	require.Zero(t, claimBy(t, r, "simulated/1@sim_1"), "it is put off, so that it stands in nobody's way")
	r.DueNow(p)
	require.Equal(t, 1, claimBy(t, r, "simulated/1@sim_1"))
}

// claimBy claims what is due as a worker with the recipe does, and returns how many.
func claimBy(t *testing.T, r *rig.Rig, recipe string) (claimed int) {
	t.Helper()
	c := operation.Claim{
		Worker: "w", Lease: time.Minute, Served: []operation.Served{{Account: fixture.Account, Recipe: recipe, Horizon: time.Hour}},
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		attempts, err := c.ClaimDue(t.Context(), tx, 1)
		claimed = len(attempts)
		return err
	}))
	return claimed
}

func TestAnExpiredPaymentsDoorIsNotClosedAtAnotherAccount(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "too_many")})
	p := fixture.Accept(t, r.DB.App, fixture.ChargeBefore(time.Now().Add(time.Minute)))
	r.DueNow(p)
	_, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Worker.Drain(t.Context()))

	sim, wrong := elsewhere(t, "simulated")
	r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: wrong}
	r.DB.SetNow(t, time.Hour)
	_, err = r.Reconciler.Expire(t.Context())
	require.NoError(t, err)
	state, _, reason := r.Operation(p)
	require.Equal(t, payment.OperationCreated, state)
	require.Equal(t, provider.ReasonOtherAccount, reason)
	require.Empty(t, sim.Oracle().References)
	require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE source = 'closure'"))
}
