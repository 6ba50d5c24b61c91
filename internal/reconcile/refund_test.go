package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// agree requires that provider, payment and books tell the same of a payment's refunds.
func agree(t *testing.T, r *rig.Rig, p operation.NewPayment, refunded int64) {
	t.Helper()
	total := r.Sim.Oracle().Totals["TRY"]
	require.Equal(t, pspsim.Total{Charged: 1000, Refunded: refunded}, total, "the provider")
	require.EqualValues(t, refunded, r.Count("SELECT refunded_minor FROM payment WHERE id = $1", p.PaymentID), "the payment")
	balances, err := ledger.Balances(t.Context(), r.DB.App)
	require.NoError(t, err)
	for _, b := range balances {
		if b.Account == ledger.PayableAccount(p.MerchantID) {
			require.Equal(t, refunded-1000, b.Minor, "the books")
		}
	}
}

func TestT6_ARefundWhoseAnswerWasCutIsFoundByInquiryAmongItsLike(t *testing.T) {
	t.Parallel()
	for _, connector := range []string{"simulated", "simulated-nokeys"} {
		t.Run(connector, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Connector: connector})
			r.StartScheduler()
			p := r.Captured()
			require.NoError(t, r.Sim.SetFaults(steps(t, "cut_after")))
			refunds := []operation.NewPayment{
				fixture.Refund(t, r.DB.App, p, "R-1", 300), fixture.Refund(t, r.DB.App, p, "R-2", 300), fixture.Refund(t, r.DB.App, p, "R-3", 400),
			}
			r.DueNow(refunds...)
			r.AwaitOperations(refunds, payment.OperationUnknown)
			r.StartReconciler()
			r.AwaitOperations(refunds, payment.OperationSucceeded)
			for _, refund := range refunds {
				refunded, sends := r.Refunded(refund)
				require.Equal(t, [2]int{1, 1}, [2]int{refunded, sends})
			}
			agree(t, r, p, 1000)
			require.Equal(t, 3, r.Count("SELECT count(DISTINCT provider_object_id) FROM operation WHERE kind = 'refund'"))
		})
	}
}

func TestT5_ARefundWhoseWorkerWasKilledTakesPlaceOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.StartScheduler()
	p := r.Captured()
	refund := fixture.Refund(t, r.DB.App, p, "R-1", 400)
	claimAndVanish(t, r, refund)
	r.StartReconciler()
	r.AwaitOperations([]operation.NewPayment{refund}, payment.OperationSucceeded)
	refunded, sends := r.Refunded(refund)
	require.Equal(t, [2]int{1, 1}, [2]int{refunded, sends})
	agree(t, r, p, 400)
}

func TestP1_RefundsUnderFaultsTakePlaceOnceAndWithinWhatWasCaptured(t *testing.T) {
	t.Parallel()
	// None of these faults hangs, so that a call which takes long is the machine's doing.
	r := rig.New(t, rig.Options{Timeout: 10 * time.Second})
	r.StartScheduler()
	r.StartReconciler()
	p := r.Captured()
	require.NoError(t, r.Sim.SetFaults(pspsim.Faults{Rates: pspsim.Rates{
		CutBefore: 0.15, CutAfter: 0.2, Error5xx: 0.1, TooMany: 0.05, Decline: 0.2, Pending: 0.15, PendingDecline: 0.5, PendingMS: 50,
	}}))
	refunds := make([]operation.NewPayment, 100)
	for i := range refunds {
		refunds[i] = fixture.Refund(t, r.DB.App, p, fmt.Sprint("R-", i), 10)
	}
	r.DueNow(refunds...)
	// Each further try comes twice as late, and how many the last ones need is luck: they
	// find the provider well again.
	require.Eventually(t, func() bool {
		return r.Count("SELECT count(*) FROM operation WHERE kind = 'refund' AND state IN ('succeeded', 'failed')") >= 90
	}, rig.Patience, 10*time.Millisecond)
	require.NoError(t, r.Sim.SetFaults(pspsim.Faults{}))
	r.AwaitOperations(refunds, payment.OperationSucceeded, payment.OperationFailed)
	done := int64(r.Count("SELECT count(*) FROM operation WHERE kind = 'refund' AND state = 'succeeded'"))
	require.NotZero(t, done)
	require.Less(t, done, int64(100))
	for _, refund := range refunds {
		refunded, _ := r.Refunded(refund)
		require.LessOrEqual(t, refunded, 1)
	}
	agree(t, r, p, 10*done)
	require.Equal(t, 100, r.Count("SELECT count(*) FROM payment_history WHERE event_type LIKE 'payonce.Refund%' AND event_topic = 'payonce.events'"))
	require.Equal(t, 100, r.Count("SELECT count(*) FROM idempotency_key WHERE route = 'refunds' AND status = 201"))
}
