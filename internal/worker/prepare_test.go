package worker_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// desk is a rig around a Stripe that keeps what it is told.
type desk struct {
	*rig.Rig
	stripe *fakestripe.Server
	p      operation.NewPayment
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{stripe: fakestripe.New("acct_1")}
	d.Rig = rig.New(t, rig.Options{
		Connector: "stripe", Provider: d.stripe, Key: fakestripe.Key, Grace: time.Millisecond, Timeout: 10 * time.Second,
	})
	d.p = fixture.Accept(t, d.DB.App)
	d.DueNow(d.p)
	return d
}

func (d *desk) await(states ...payment.State) {
	d.AwaitState([]operation.NewPayment{d.p}, states...)
}

// send is one attempt, with what came of it stored.
func (d *desk) send(t *testing.T) {
	t.Helper()
	launched, err := d.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, launched)
	drain(t, d.Worker)
}

// object is the stored id of the PaymentIntent, empty without one.
func (d *desk) object(t *testing.T) string {
	t.Helper()
	var id string
	err := d.DB.App.QueryRow(t.Context(), "SELECT coalesce(provider_object_id, '') FROM operation WHERE id = $1", d.p.OperationID).Scan(&id)
	require.NoError(t, err)
	return id
}

// requireChargedOnce also looks at what the payment rests on.
func (d *desk) requireChargedOnce(t *testing.T) {
	t.Helper()
	require.Equal(t, 1, d.stripe.Charged(d.p.OperationID.String()))
	require.Equal(t, payment.StateCaptured, fixture.State(t, d.DB.App, d.p))
	require.Equal(t, 2, d.Count("SELECT count(*) FROM ledger_entry"))
	require.Equal(t, "pi_000001", d.object(t))
}

func TestP1_APreparedChargeIsConfirmedUnderItsStoredID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	release := make(chan struct{})
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{Hold: release})
	launched, err := d.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, launched)
	require.Eventually(t, func() bool { return d.stripe.Arrived(fakestripe.Confirm) == 1 }, rig.Patience, time.Millisecond)
	require.Equal(t, "pi_000001", d.object(t), "committed before the money-moving request was made")
	close(release)
	drain(t, d.Worker)
	d.requireChargedOnce(t)
}

func TestP1_ALostPreparationIsRepeatedAndMovesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Create, fakestripe.Step{CutBefore: true},
		fakestripe.Step{Refuse: "api_error"}, fakestripe.Step{Refuse: "lock_timeout"}, fakestripe.Step{}, fakestripe.Step{CutAfter: true})
	for attempt := range 3 {
		d.DueNow(d.p)
		d.send(t)
		state, fence, _ := d.Operation(d.p)
		require.Equal(t, payment.OperationCreated, state, "no money-moving request was made, so nothing is unknown")
		require.Equal(t, int64(attempt+1), fence)
		require.Empty(t, d.object(t))
	}
	require.Equal(t, 3, d.Count("SELECT count(*) FROM attempt WHERE not_sent"))
	require.Zero(t, d.stripe.Arrived(fakestripe.Confirm))
	d.DueNow(d.p)
	d.send(t)
	d.requireChargedOnce(t)
	require.Equal(t, 1, d.stripe.Made(d.p.OperationID.String()), "the same key is the same PaymentIntent")
}

func TestP1_AWorkerThatLostItsLeaseWhilePreparingMovesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	release := make(chan struct{})
	d.stripe.Script(fakestripe.Create, fakestripe.Step{Hold: release})
	_, err := d.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.Eventually(t, func() bool { return d.stripe.Arrived(fakestripe.Create) == 1 }, rig.Patience, time.Millisecond)

	d.DB.SetNow(t, time.Hour)
	taken, err := d.Reconciler.TakeOver(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, taken)
	close(release)
	drain(t, d.Worker)
	require.Empty(t, d.object(t), "whoever took over found no id, and none may appear behind its back")
	require.Zero(t, d.stripe.Arrived(fakestripe.Confirm))

	d.StartReconciler()
	d.StartScheduler()
	d.await(payment.StateCaptured)
	d.requireChargedOnce(t)
	require.Equal(t, 1, d.stripe.Made(d.p.OperationID.String()))
}

func TestT5_AWorkerKilledBeforeItStoredAnIDIsKnownToHaveSentNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.claimAndVanish(t)
	d.StartReconciler()
	d.StartScheduler()
	d.await(payment.StateCaptured)
	d.requireChargedOnce(t)
	require.Zero(t, d.stripe.Arrived(fakestripe.Retrieve), "without an id there is nothing to ask for")
	require.GreaterOrEqual(t, d.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry' AND reason = 'not-prepared'"), 1, "U3: it looked first")
}

// claimAndVanish is what a worker leaves behind that is killed right after its claim.
func (d *desk) claimAndVanish(t *testing.T) {
	t.Helper()
	claim := operation.Claim{
		Worker: "killed", Lease: time.Millisecond, Allowance: time.Millisecond,
		Served: []operation.Served{{Account: fixture.Account, Recipe: d.Connector.Recipe(), Horizon: time.Hour}},
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), d.DB.App, func(tx pgx.Tx) error {
		attempts, err := claim.ClaimDue(t.Context(), tx, 1)
		require.Len(t, attempts, 1)
		return err
	}))
}

func TestT6_AConfirmWhoseAnswerWasCutIsFoundByItsStoredID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{CutAfter: true})
	d.send(t)
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.DB.App, d.p))
	d.StartReconciler()
	d.await(payment.StateCaptured)
	d.requireChargedOnce(t)
	require.Equal(t, 1, d.stripe.Arrived(fakestripe.Confirm), "U2: asked, not sent again")
}

func TestU2_AConfirmThatNeverArrivedIsResentOnTheSameObject(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{CutBefore: true})
	d.send(t)
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.DB.App, d.p))
	d.DB.SetNow(t, time.Hour) // the lease and the grace are over
	d.StartReconciler()
	d.StartScheduler()
	d.await(payment.StateCaptured)
	d.requireChargedOnce(t)
	require.Equal(t, 1, d.stripe.Arrived(fakestripe.Create), "a stored PaymentIntent is not made again")
	require.Equal(t, 2, d.stripe.Arrived(fakestripe.Confirm))
}

// A confirm of which nothing is known is still on its way when the horizon of its
// key has passed. Its object is canceled before the payment fails.
func TestU4_TheDoorIsClosedByCancelingAndALateConfirmMeetsIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{CutBefore: true})
	d.send(t)
	d.DB.SetNow(t, 25*time.Hour)
	d.StartReconciler()
	d.await(payment.StateFailed)
	require.Equal(t, 1, d.Count("SELECT count(*) FROM evidence WHERE source = 'closure' AND verdict = 'not_taken'"))
	require.Equal(t, 1, d.stripe.Arrived(fakestripe.Cancel))

	d.stripe.ForgetKeys()
	late := d.Connector.Send(t.Context(), d.request(t), within(time.Minute))
	require.Equal(t, payment.VerdictDeclined, late.Verdict, "%+v", late)
	require.Zero(t, d.stripe.Charged(d.p.OperationID.String()))
}

func TestP2_APaymentWhosePaymentMethodWentAwayEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{Becomes: fakestripe.Methodless})
	d.send(t)
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.DB.App, d.p))
	d.DB.SetNow(t, 25*time.Hour)
	d.StartReconciler()
	d.await(payment.StateFailed)
	require.Equal(t, 1, d.stripe.Arrived(fakestripe.Cancel), "and its door is closed")
	require.Zero(t, d.Count("SELECT count(*) FROM invoice_identity"))
}

func TestP2_WhatStripeWouldRefuseEachTimeWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Create, fakestripe.Step{Refuse: "parameter_unknown"})
	d.send(t)
	state, _, reason := d.Operation(d.p)
	require.Equal(t, payment.OperationCreated, state)
	require.Equal(t, provider.ReasonInvalidOperation, reason)
	require.Equal(t, 1, d.Count("SELECT count(*) FROM operation WHERE waits_for = 'person' AND next_attempt_at IS NULL"))
}

func TestW4_ADeclinedCardFailsThePaymentAndItsInvoiceIsFree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{Becomes: "requires_payment_method"})
	d.send(t)
	state, _, reason := d.Operation(d.p)
	require.Equal(t, payment.OperationFailed, state)
	require.Equal(t, "insufficient_funds", reason)
	require.Zero(t, d.Count("SELECT count(*) FROM invoice_identity"))
}

func TestU5_AProcessingPaymentIsPendingUntilStripeSaysHowItEnded(t *testing.T) {
	t.Parallel()
	for became, state := range map[string]payment.State{"succeeded": payment.StateCaptured, "requires_payment_method": payment.StateFailed} {
		t.Run(became, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.stripe.Script(fakestripe.Confirm, fakestripe.Step{Becomes: "processing"})
			d.send(t)
			require.Equal(t, payment.StatePending, fixture.State(t, d.DB.App, d.p))
			d.stripe.Settle(d.p.OperationID.String(), became)
			d.DB.SetNow(t, time.Hour)
			d.StartReconciler()
			d.await(state)
			require.Equal(t, 1, d.stripe.Arrived(fakestripe.Confirm))
		})
	}
}

func TestW3_ARefusedKeyFailsNobodysPayment(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.stripe.Script(fakestripe.Create, fakestripe.Step{Refuse: "permission"}, fakestripe.Step{Refuse: "rate_limit"})
	for _, want := range []string{"credentials", "try-later"} {
		d.DueNow(d.p)
		d.send(t)
		state, _, reason := d.Operation(d.p)
		require.Equal(t, payment.OperationCreated, state)
		require.Equal(t, want, reason, "the payment says what it waits for")
	}
	d.stripe.Script(fakestripe.Confirm, fakestripe.Step{Refuse: "permission"})
	require.Eventually(t, func() bool {
		d.DueNow(d.p)
		launched, err := d.Worker.ScheduleOnce(t.Context())
		return err == nil && launched == 1
	}, rig.Patience, 50*time.Millisecond, "the account is left alone for a moment")
	drain(t, d.Worker)
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.DB.App, d.p), "what was sent is asked for, not guessed")
}

// Two workers would have to hold the operation at once: an attempt that is not the
// operation's present one stores nothing, and a stored id is never replaced.
func TestP1_OnlyTheAttemptThatHoldsTheLeaseStoresAnID(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	claim := operation.Claim{
		Worker: "w", Lease: time.Minute, Allowance: time.Second,
		Served: []operation.Served{{Account: fixture.Account, Recipe: d.Connector.Recipe(), Horizon: time.Hour}},
	}
	a := operation.Attempt{OperationID: d.p.OperationID}
	keep := func(fence int64, id string) bool {
		a.Fence = fence
		kept, err := operation.KeepObject(t.Context(), d.DB.App, a, id)
		require.NoError(t, err)
		return kept
	}
	require.False(t, keep(0, "pi_1"), "nobody has claimed it")
	require.NoError(t, pgx.BeginFunc(t.Context(), d.DB.App, func(tx pgx.Tx) error {
		attempts, err := claim.ClaimDue(t.Context(), tx, 1)
		require.Len(t, attempts, 1)
		a = attempts[0]
		return err
	}))
	require.False(t, keep(2, "pi_1"), "another fence")
	own := a.ClaimID
	a.ClaimID = uuid.New()
	require.False(t, keep(1, "pi_1"), "another claim at the same fence")
	a.ClaimID = own
	require.True(t, keep(1, "pi_1"))
	require.True(t, keep(1, "pi_1"), "the answer to the commit may have been lost")
	require.False(t, keep(1, "pi_2"), "money may have been moved for the first one")
	require.Equal(t, "pi_1", d.object(t))
}

// request is what the worker asks the connector for.
func (d *desk) request(t *testing.T) provider.Operation {
	t.Helper()
	return provider.Operation{
		ID: d.p.OperationID, Kind: payment.KindCharge, Reference: d.p.OperationID.String(), Amount: d.p.Amount,
		PaymentMethod: d.p.PaymentMethod, ObjectID: d.object(t),
	}
}

func within(duration time.Duration) provider.StopDeadline {
	return provider.NewStopDeadline(time.Now().Add(duration))
}
