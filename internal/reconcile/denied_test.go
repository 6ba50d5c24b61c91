package reconcile_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// The confirm's answer was cut, an inquiry came a moment too early, and the webhook of the
// success comes after both.
func TestU8_ACapturedWebhookAboutDeniedMoneyHasTheProviderAskedSoThatItCanBeRefunded(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	p, m := e.isUnknown(t)
	told := e.says(t)
	*told.answer = provider.Answer{Verdict: payment.VerdictNotTaken, ObjectID: m.ID, Reason: provider.ReasonNotConfirmed}
	lookOnce(t, e.Rig)
	*told.answer = provider.Answer{Verdict: payment.VerdictUnclear}
	e.hears(t, "evt_1", m)
	e.workOff(t)
	e.capturedOnce(t, p)
	state, reason := e.event(t, "evt_1")
	require.Equal(t, [2]string{"waiting", "not-answered"}, [2]string{state, reason}, "it is settled before the provider answers")

	mayRefund := "SELECT count(*) FROM operation o WHERE may_be_refunded(o)"
	require.Zero(t, e.Count(mayRefund))
	*told.answer = provider.Answer{Verdict: payment.VerdictCaptured, ObjectID: m.ID, Amount: p.Amount}
	e.DB.SetNow(t, time.Hour)
	e.workOff(t)
	e.capturedOnce(t, p)
	state, _ = e.event(t, "evt_1")
	require.Equal(t, "applied", state)
	require.Equal(t, 1, e.Count(mayRefund))
}

// contradiction is a charge that failed on a decline, and a webhook which says that the
// same object was captured.
type contradiction struct {
	ear
	payment operation.NewPayment
	answer  *provider.Answer // the provider's
	found   provider.Answer  // when it says so, too
}

func contradicts(t *testing.T) contradiction {
	t.Helper()
	e := listen(t, rig.Options{})
	s := fellAsleep(t, e.Rig)
	m := movement(s.payment, pspsim.StatusCaptured)
	require.NoError(t, s.tells(t.Context(), provider.Answer{Verdict: payment.VerdictDeclined, Reason: declined.Reason, ObjectID: m.ID}))
	e.hears(t, "evt_1", m)
	return contradiction{
		ear: e, payment: s.payment, answer: e.says(t).answer,
		found: provider.Answer{Verdict: payment.VerdictCaptured, ObjectID: m.ID, Amount: s.payment.Amount},
	}
}

// The provider does not answer for as long as the test likes.
func TestU8_U7_ACapturedWebhookAboutWhatFailedHasItsCaseBeforeTheProviderAnswers(t *testing.T) {
	t.Parallel()
	e := contradicts(t)
	*e.answer = provider.Answer{Verdict: payment.VerdictUnclear}
	captured := "SELECT count(*) FROM evidence WHERE source = 'webhook' AND verdict = 'captured'"
	for n := range 3 {
		e.DB.SetNow(t, time.Duration(n+1)*time.Hour)
		e.workOff(t)
		state, reason := e.event(t, "evt_1")
		require.Equal(t, [2]string{"waiting", "not-answered"}, [2]string{state, reason})
		require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE kind = 'captured_after_failed'"))
		require.Equal(t, 1, e.Count(captured), "it is told once")
	}
	e.DB.SetNow(t, 4*time.Hour)
	*e.answer = e.found
	e.workOff(t)
	state, _ := e.event(t, "evt_1")
	require.Equal(t, "applied", state)
	require.Equal(t, 1, e.Count(captured))
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case"))
}

func TestU8_U7_ACapturedWebhookAfterADeclineOfTheSameObjectIsAdoptedOnceTheProviderSaysSo(t *testing.T) {
	t.Parallel()
	e := contradicts(t)
	*e.answer = e.found
	e.workOff(t)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE plan = 'adopt' AND waits_for = 'machine'"))
	_, err := e.Reconciler.CarryOut(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE resolution = 'adopted'"))
	state, _, _ := e.Operation(e.payment)
	require.Equal(t, payment.OperationSucceeded, state)
}
