package reconcile_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// preparing is a rig around a Stripe, whose charges need an object first, with a
// payment that is remembered.
func preparing(t *testing.T) (*rig.Rig, *fakestripe.Server) {
	t.Helper()
	stripe := fakestripe.New("acct_1")
	r := rig.New(t, rig.Options{Connector: "stripe", Provider: stripe, Key: fakestripe.Key, Grace: time.Millisecond, Timeout: 10 * time.Second})
	remembered(t, r)
	return r, stripe
}

// preparedBefore makes the PaymentIntent of a payment as the release before did, under
// that release's key.
func preparedBefore(t *testing.T, r *rig.Rig, p operation.NewPayment) provider.Operation {
	t.Helper()
	form := url.Values{
		"amount": {"1000"}, "currency": {"try"}, "payment_method": {p.PaymentMethod}, "capture_method": {"automatic"},
		"metadata[operation_id]": {p.OperationID.String()},
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/v1/payment_intents", strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Authorization", "Bearer "+fakestripe.Key)
	request.Header.Set("Idempotency-Key", p.OperationID.String()+":prepare:stripe/0:1")
	response, err := (&http.Client{Timeout: rig.Patience}).Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	var made struct{ ID string }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&made))
	require.NotEmpty(t, made.ID)
	return provider.Operation{
		ID: p.OperationID, Kind: payment.KindCharge, Reference: p.OperationID.String(), Amount: p.Amount, PaymentMethod: p.PaymentMethod, ObjectID: made.ID,
	}
}

// chargedBefore is a payment that the release before charged, of which nothing is remembered.
func chargedBefore(t *testing.T, r *rig.Rig) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	op := preparedBefore(t, r, p)
	require.Equal(t, payment.VerdictCaptured, r.Connector.Send(t.Context(), op, provider.NewStopDeadline(time.Now().Add(rig.Patience))).Verdict)
	return p
}

// aDay looks and sends for longer than Stripe keeps a key.
func aDay(t *testing.T, r *rig.Rig) {
	t.Helper()
	for _, later := range []time.Duration{2 * time.Minute, 4 * time.Minute, 15 * time.Minute, 25 * time.Hour, 26 * time.Hour, 28 * time.Hour} {
		r.DB.SetNow(t, later)
		_, err := r.Reconciler.Look(t.Context())
		require.NoError(t, err)
		_, err = r.Worker.ScheduleOnce(t.Context())
		require.NoError(t, err)
		require.NoError(t, r.Worker.Drain(t.Context()))
	}
}

// waitsForAPerson requires that a payment is open, keeps its invoice and is a person's.
func waitsForAPerson(t *testing.T, r *rig.Rig, p operation.NewPayment, because string) {
	t.Helper()
	state, _, reason := r.Operation(p)
	require.Equal(t, payment.OperationUnknown, state)
	require.Equal(t, because, reason)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE id = $1 AND waits_for = 'person'", p.OperationID))
	require.Equal(t, 1, r.Count("SELECT count(*) FROM invoice_identity WHERE payment_id = $1", p.PaymentID))
	require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND (covers_earlier OR covers_until IS NOT NULL)", p.OperationID))
}

// What was lost was charged by the release before, whose PaymentIntent we do not know:
// its prepare key was another. Ours is a second one, or is refused, and Stripe says
// truthfully that nothing was taken for it.
func TestP1_AChargeThatWasLostIsNotFailedByWhatIsSaidOfAnotherObject(t *testing.T) {
	t.Parallel()
	t.Run("a second object is prepared", func(t *testing.T) {
		t.Parallel()
		r, stripe := preparing(t)
		p := chargedBefore(t, r)
		bump(t, r)
		aDay(t, r)
		waitsForAPerson(t, r, p, outcome.ReasonObjectInDoubt)
		require.Equal(t, [2]int{2, 1}, [2]int{stripe.Made(p.OperationID.String()), stripe.Charged(p.OperationID.String())})
	})
	t.Run("it was stored when commits were lost again", func(t *testing.T) {
		t.Parallel()
		r, stripe := preparing(t)
		p := chargedBefore(t, r)
		bump(t, r)
		r.DB.SetNow(t, 2*time.Minute)
		_, err := r.Reconciler.Look(t.Context())
		require.NoError(t, err)
		_, err = r.Worker.ScheduleOnce(t.Context())
		require.NoError(t, err)
		require.NoError(t, r.Worker.Drain(t.Context()))
		require.Equal(t, 2, stripe.Made(p.OperationID.String()))
		bump(t, r)
		aDay(t, r)
		waitsForAPerson(t, r, p, outcome.ReasonObjectInDoubt)
	})
	t.Run("its preparation is refused", func(t *testing.T) {
		t.Parallel()
		r, stripe := preparing(t)
		p := chargedBefore(t, r)
		bump(t, r)
		refused := fakestripe.Step{Refuse: "amount_too_small"}
		stripe.Script(fakestripe.Create, refused, refused, refused, refused)
		aDay(t, r)
		waitsForAPerson(t, r, p, "amount_too_small")
		require.Equal(t, [2]int{1, 1}, [2]int{stripe.Made(p.OperationID.String()), stripe.Charged(p.OperationID.String())})
	})
}

// The key of the charge itself is the same in every release, so what is said about it
// speaks for what was lost.
func TestP1_AResendAfterABumpSpeaksForTheLostChargeWhereItsKeyWasNew(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		confirm fakestripe.Step
		state   payment.OperationState
		charged int
	}{
		"captured": {state: payment.OperationSucceeded, charged: 1},
		"declined": {confirm: fakestripe.Step{Becomes: "requires_payment_method"}, state: payment.OperationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, stripe := preparing(t)
			p := fixture.Accept(t, r.DB.App)
			preparedBefore(t, r, p)
			bump(t, r)
			stripe.Script(fakestripe.Confirm, c.confirm)
			aDay(t, r)
			state, _, _ := r.Operation(p)
			require.Equal(t, c.state, state)
			require.Equal(t, [2]int{2, c.charged}, [2]int{stripe.Made(p.OperationID.String()), stripe.Charged(p.OperationID.String())})
		})
	}
}

// An id that was stored before is never replaced: whatever was lost acted on it.
func TestP2_AnObjectThatWasStoredBeforeTheLossIsAskedAboutAndBelieved(t *testing.T) {
	t.Parallel()
	r, stripe := preparing(t)
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	stripe.Script(fakestripe.Confirm, fakestripe.Step{CutBefore: true})
	_, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Worker.Drain(t.Context()))
	bump(t, r)
	r.DB.SetNow(t, 25*time.Hour)
	_, err = r.Reconciler.Look(t.Context())
	require.NoError(t, err)
	state, _, reason := r.Operation(p)
	require.Equal(t, payment.OperationFailed, state)
	require.Equal(t, outcome.ReasonNotTaken, reason)
	require.Equal(t, [2]int{1, 0}, [2]int{stripe.Made(p.OperationID.String()), stripe.Charged(p.OperationID.String())})
}
