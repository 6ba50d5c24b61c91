package reconcile_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// bump records a new epoch at everything that is open.
func bump(t *testing.T, r *rig.Rig) {
	t.Helper()
	e, err := operation.BeginEpoch(t.Context(), r.DB.App, operation.Epoch{ID: uuid.New(), InFlight: time.Minute, Who: "ada", Reason: "restored"})
	require.NoError(t, err)
	require.NoError(t, r.Publisher.BumpAll(t.Context(), r.DB.App, e, func(int) {}))
}

// remembered is a payment from before what was lost. It tells the account at the
// provider that the lost ones were sent to as well.
func remembered(t *testing.T, r *rig.Rig) {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Worker.Drain(t.Context()))
	state, _, _ := r.Operation(p)
	require.Equal(t, payment.OperationSucceeded, state)
}

// restored is a payment of a database that went back in time: it was claimed and
// charged, and nothing of that is remembered.
func restored(t *testing.T, r *rig.Rig) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	answer := r.Connector.Send(t.Context(), provider.Operation{
		ID: p.OperationID, Kind: payment.KindCharge, Reference: p.OperationID.String(), Amount: p.Amount, PaymentMethod: p.PaymentMethod,
	}, provider.NewStopDeadline(time.Now().Add(rig.Patience)))
	require.Equal(t, payment.VerdictCaptured, answer.Verdict)
	return p
}

func TestP1_U3_AfterABumpARestoredPaymentIsAskedAboutAndNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, connector := range []string{"simulated", "simulated-nokeys"} {
		t.Run(connector, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Connector: connector})
			remembered(t, r)
			p := restored(t, r)
			bump(t, r)
			state, _, reason := r.Operation(p)
			require.Equal(t, payment.OperationUnknown, state)
			require.Equal(t, "commits-lost", reason)
			r.StartScheduler()
			r.StartReconciler()
			r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
			charged, sends := r.Charged(p)
			require.Equal(t, [2]int{1, 1}, [2]int{charged, sends}, "charges and requests")
			require.Equal(t, 4, r.Count("SELECT count(*) FROM ledger_entry"), "of both payments")
			require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.PaymentUnknown.v1'"))
		})
	}
}

// Without the bump the restored database sends again. A key makes that a repetition;
// without one it is the second charge that the bump is for.
func TestP1_WithoutTheBumpARestoredPaymentIsChargedTwiceWhereThereAreNoKeys(t *testing.T) {
	t.Parallel()
	for connector, charges := range map[string]int{"simulated": 1, "simulated-nokeys": 2} {
		t.Run(connector, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Connector: connector})
			p := restored(t, r)
			r.DueNow(p)
			r.StartScheduler()
			r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
			charged, sends := r.Charged(p)
			require.Equal(t, [2]int{charges, 2}, [2]int{charged, sends}, "charges and requests")
		})
	}
}

func TestP1_WithKeysOnlyTheRepeatedKeyFindsWhatWasLost(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-keysonly"})
	remembered(t, r)
	p := restored(t, r)
	bump(t, r)
	_, err := r.Reconciler.Look(t.Context())
	require.NoError(t, err)
	require.Zero(t, r.Count("SELECT count(*) FROM operation WHERE resend_fence IS NOT NULL"), "a lost attempt may still be under way")
	r.DB.SetNow(t, 2*time.Minute)
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 2}, [2]int{charged, sends})
}

func TestP2_WhatWasNeverSentIsSentOnceTheProviderHasNotFoundIt(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	remembered(t, r)
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	bump(t, r)
	claimed, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, claimed, "the provider is asked first")
	looked, err := r.Reconciler.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, looked)
	require.Zero(t, r.Count("SELECT count(*) FROM operation WHERE resend_fence IS NOT NULL"), "not found, while a lost attempt may be under way")
	r.DB.SetNow(t, 2*time.Minute)
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

// The database remembers an attempt of a moment ago. One that it lost may have used
// the key a day before, and the provider may have forgotten it since.
func TestU2_AfterABumpTheKeysHorizonCountsFromTheBirthOfThePayment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bumped bool
		state  payment.State
		sends  int
	}{
		"bumped":            {true, payment.StateFailed, 0},
		"as it is believed": {false, payment.StateCaptured, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{})
			p := fixture.Accept(t, r.DB.App)
			r.DB.SetNow(t, 25*time.Hour)
			claimAndVanish(t, r, p)
			if c.bumped {
				bump(t, r)
			}
			r.DB.SetNow(t, 25*time.Hour+2*time.Minute)
			r.StartScheduler()
			r.StartReconciler()
			r.AwaitState([]operation.NewPayment{p}, c.state)
			_, sends := r.Charged(p)
			require.Equal(t, c.sends, sends)
		})
	}
}

// At a provider where a charge is prepared, "never prepared" is what the missing id
// seems to say. The id is missing because it was lost.
func TestP1_APreparedChargeWhoseIDWasLostIsFoundByItsKeyOrLeftToAPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later time.Duration
		state payment.OperationState
		owner operation.Owner
	}{
		"within the key's horizon": {2 * time.Minute, payment.OperationSucceeded, operation.Machine},
		"after it":                 {25 * time.Hour, payment.OperationUnknown, operation.Person},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stripe := fakestripe.New("acct_1")
			r := rig.New(t, rig.Options{Connector: "stripe", Provider: stripe, Key: fakestripe.Key, Grace: time.Millisecond, Timeout: 10 * time.Second})
			remembered(t, r)
			p := fixture.Accept(t, r.DB.App)
			op := provider.Operation{
				ID: p.OperationID, Kind: payment.KindCharge, Reference: p.OperationID.String(), Amount: p.Amount, PaymentMethod: p.PaymentMethod,
			}
			stop := provider.NewStopDeadline(time.Now().Add(rig.Patience))
			preparer, ok := r.Connector.(provider.Preparer)
			require.True(t, ok)
			op.ObjectID, _ = preparer.Prepare(t.Context(), op, stop)
			require.Equal(t, payment.VerdictCaptured, r.Connector.Send(t.Context(), op, stop).Verdict)
			bump(t, r)
			r.DB.SetNow(t, c.later)
			_, err := r.Reconciler.Look(t.Context())
			require.NoError(t, err)
			_, err = r.Worker.ScheduleOnce(t.Context())
			require.NoError(t, err)
			require.NoError(t, r.Worker.Drain(t.Context()))
			state, _, _ := r.Operation(p)
			require.Equal(t, c.state, state)
			require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE id = $1 AND waits_for = $2", p.OperationID, c.owner))
			require.Equal(t, 1, stripe.Charged(p.OperationID.String()))
			require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry'"))
		})
	}
}

// The account was changed after the failover. Both the key and "not found" would be
// true at the new one, and the charge took place at the old one.
func TestP1_WhatWasLostIsNeitherSentNorAskedAboutAtAnotherAccount(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		remembers bool
		owner     operation.Owner
	}{
		"an older payment names the account": {true, operation.Person}, // a guess, which the configuration contradicts
		"nothing names it":                   {false, operation.Person},
	} {
		for _, connector := range []string{"simulated", "simulated-nokeys", "simulated-keysonly"} {
			t.Run(name+", "+connector, func(t *testing.T) {
				t.Parallel()
				r := rig.New(t, rig.Options{Connector: connector})
				if c.remembers {
					remembered(t, r)
				}
				p := restored(t, r)
				bump(t, r)
				sim, wrong := elsewhere(t, connector)
				require.NoError(t, wrong.Identify(t.Context()))
				r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: wrong}
				for _, later := range []time.Duration{2 * time.Minute, 25 * time.Hour} {
					r.DB.SetNow(t, later)
					_, err := r.Reconciler.Look(t.Context())
					require.NoError(t, err)
					require.Zero(t, r.Count("SELECT count(*) FROM operation WHERE resend_fence IS NOT NULL"))
					state, _, _ := r.Operation(p)
					require.Equal(t, payment.OperationUnknown, state)
					require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE state = 'unknown' AND waits_for = $1", c.owner))
				}
				require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND source <> 'answer'", p.OperationID))
				require.Empty(t, sim.Oracle().References, "the other account heard of nothing")
			})
		}
	}
}

func TestP1_AResendOfWhatWasLostIsClaimedAtItsOwnAccountOnly(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	remembered(t, r)
	p := restored(t, r)
	bump(t, r)
	_, err := r.DB.App.Exec(t.Context(), `UPDATE operation SET resend_fence = fence, next_attempt_at = payonce_now(), next_check_at = NULL
		WHERE id = $1`, p.OperationID)
	require.NoError(t, err)
	require.Zero(t, claimBy(t, r, "simulated/1@sim_2"))
	_, err = r.DB.App.Exec(t.Context(), `UPDATE operation SET resend_fence = fence, next_attempt_at = payonce_now(), next_check_at = NULL
		WHERE id = $1`, p.OperationID)
	require.NoError(t, err)
	require.Equal(t, 1, claimBy(t, r, "simulated/2@sim_1"), "the recipe may be another one")
}

// declining declines whatever it is asked about, and promises nothing of what it has not seen.
type declining struct{ provider.Connector }

func (d declining) Capabilities() provider.Capabilities {
	c := d.Connector.Capabilities()
	c.Inquiry.NotFoundAuthoritative, c.Key = false, provider.Key{}
	return c
}

func (declining) Inquire(context.Context, provider.Operation) provider.Answer {
	return provider.Answer{Verdict: payment.VerdictDeclined, Reason: "insufficient-funds"}
}

// One attempt stands for whatever was lost, and a decline speaks of one send only.
func TestP1_ADeclineDoesNotSpeakForAllThatWasLost(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	remembered(t, r)
	p := fixture.Accept(t, r.DB.App)
	bump(t, r)
	r.Reconciler.Accounts = map[string]provider.Connector{fixture.Account: declining{r.Connector}}
	r.DB.SetNow(t, 2*time.Minute)
	_, err := r.Reconciler.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND verdict = 'declined'", p.OperationID))
	state, _, _ := r.Operation(p)
	require.Equal(t, payment.OperationUnknown, state)
}
