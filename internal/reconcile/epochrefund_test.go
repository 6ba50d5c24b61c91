package reconcile_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// compensated is a second charge of a payment, and the refund that gives it back.
func compensated(t *testing.T, r *rig.Rig, p operation.NewPayment) operation.NewPayment {
	t.Helper()
	_, err := r.Applier.Do(t.Context(), outcome.Outcome{PaymentID: p.PaymentID, Learned: evidence.Evidence{
		OperationID: p.OperationID, Source: evidence.Inquiry, Verdict: payment.VerdictCaptured, Amount: p.Amount,
		ProviderObjectID: "ch_stray", AskedAt: time.Now(),
	}})
	require.NoError(t, err)
	carried, err := r.Reconciler.CarryOut(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, carried)
	require.NoError(t, r.DB.App.QueryRow(t.Context(), "SELECT id FROM operation WHERE case_id IS NOT NULL").Scan(&p.OperationID))
	return p
}

// Another account was configured after the payment was taken, and used. Then commits were
// lost. The refund can only have been sent to the account that took the payment.
func TestP1_AfterABumpWhatGivesMoneyBackBelongsToTheAccountThatTookIt(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*testing.T, *rig.Rig, operation.NewPayment) operation.NewPayment{
		"a refund": func(t *testing.T, r *rig.Rig, p operation.NewPayment) operation.NewPayment {
			return fixture.Refund(t, r.DB.App, p, "R-1", 400)
		},
		"a compensation": compensated,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{})
			p := fixture.Accept(t, r.DB.App)
			r.DueNow(p)
			_, err := dueOnce(t, r)
			require.NoError(t, err)
			back := ask(t, r, p)
			_, err = r.DB.App.Exec(t.Context(), "UPDATE operation SET next_attempt_at = payonce_now() + interval '1 h' WHERE id = $1", back.OperationID)
			require.NoError(t, err)
			younger := fixture.Accept(t, r.DB.App)
			r.DueNow(younger)
			require.Equal(t, 1, claimBy(t, r, "simulated/1@sim_2"))

			bump(t, r)
			require.Equal(t, 1, r.Count("SELECT count(*) FROM attempt WHERE operation_id = $1 AND recipe = '@sim_1'", back.OperationID))
			sim, wrong := elsewhere(t, "simulated")
			require.NoError(t, wrong.Identify(t.Context()))
			r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: wrong}
			r.DB.SetNow(t, 2*time.Minute)
			_, err = r.DB.App.Exec(t.Context(), "UPDATE operation SET next_check_at = payonce_now() + interval '1 h' WHERE id = $1", younger.OperationID)
			require.NoError(t, err)
			_, err = r.Reconciler.Look(t.Context())
			require.NoError(t, err)
			require.NotContains(t, sim.Oracle().References, back.OperationID.String(), "the other account hears nothing of it")
			require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1", back.OperationID))

			orderAgain(t, r, back)
			require.Zero(t, claimBy(t, r, "simulated/1@sim_2"))
			orderAgain(t, r, back)
			require.Equal(t, 1, claimBy(t, r, "simulated/1@sim_1"))
		})
	}
}

// A loss before this rule, or of what was guessed, left another account behind.
func TestP1_WhatGivesMoneyBackIsNotResentWhereItsChargeWasNotTaken(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	back := fixture.Refund(t, r.DB.App, p, "R-1", 400)
	bump(t, r)
	for _, sql := range []string{
		"ALTER TABLE attempt DISABLE TRIGGER USER", "UPDATE attempt SET recipe = '@sim_2' WHERE epoch_id IS NOT NULL",
		"ALTER TABLE attempt ENABLE TRIGGER USER",
	} {
		_, err = r.DB.Owner.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	looked, found, err := operation.LookUp(t.Context(), r.DB.App, back.OperationID)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "@sim_1", looked.Recipe, "it is asked about where its charge was taken")
	orderAgain(t, r, back)
	require.Zero(t, claimBy(t, r, "simulated/1@sim_2"))
}

// orderAgain orders a resend, whatever the reconciler thinks of it.
func orderAgain(t *testing.T, r *rig.Rig, o operation.NewPayment) {
	t.Helper()
	_, err := r.DB.App.Exec(t.Context(), `UPDATE operation SET resend_fence = fence, next_attempt_at = payonce_now(), next_check_at = NULL
		WHERE id = ANY ($1)`, []uuid.UUID{o.OperationID})
	require.NoError(t, err)
}
