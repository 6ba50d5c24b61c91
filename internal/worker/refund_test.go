package worker_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestT7_TheSameRefundMessageTenTimesIsOneRefund(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	r.StartConsumer(b)
	p := fixture.Accept(t, r.DB.App)
	publish(t, b, record(t, b, p))
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	refund := fixture.Refund(t, r.DB.App, p, "R-1", 400)
	e, err := fixture.RefundRequested(refund, "R-1", time.Now())
	require.NoError(t, err)
	for range 5 { // the same message again, and its like under ids of their own
		publish(t, b, recordOf(b, e))
		another, err := fixture.RefundRequested(refund, "R-1", time.Now())
		require.NoError(t, err)
		publish(t, b, recordOf(b, another))
	}
	awaitCommitted(t, b, 11)
	r.AwaitOperations([]operation.NewPayment{refund}, payment.OperationSucceeded)
	refunded, sends := r.Refunded(refund)
	require.Equal(t, [2]int{1, 1}, [2]int{refunded, sends})
}

func TestARefundWhoseMessageWasLostIsMadeUpForByTheDueList(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	r.StartScheduler()
	p := r.Captured()
	refund := fixture.Refund(t, r.DB.App, p, "R-1", 400)
	r.DB.SetNow(t, 2*operation.MessageGrace)
	r.AwaitOperations([]operation.NewPayment{refund}, payment.OperationSucceeded)
}

// A message may come after its payment was canceled: there is nothing to be done.
func TestI15_TheMessageOfACanceledPaymentMovesNothing(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	p := fixture.Accept(t, r.DB.App)
	amendments := accept.NewAmendments(accept.AmendmentRules{Pool: r.DB.App, Topics: b.Topics, Source: fixture.Source})
	_, err := amendments.Cancel(t.Context(), accept.Amendment{MerchantID: p.MerchantID, PaymentID: p.PaymentID, IdempotencyKey: "a-cancel"})
	require.NoError(t, err)
	publish(t, b, record(t, b, p))
	r.StartConsumer(b)
	awaitCommitted(t, b, 1)
	_, sends := r.Charged(p)
	require.Zero(t, sends)
}

func TestW6_ARefundMessageThatNamesAChargeGoesToTheDeadLetters(t *testing.T) {
	t.Parallel()
	r, b := rig.New(t, rig.Options{}), testkit.NewFakeBroker(t)
	p := fixture.Accept(t, r.DB.App)
	e, err := fixture.RefundRequested(p, "R-1", time.Now())
	require.NoError(t, err)
	publish(t, b, recordOf(b, e))
	r.StartConsumer(b)
	awaitCommitted(t, b, 1)
	var asked event.RefundAsked
	require.NoError(t, json.Unmarshal(e.Payload, &asked))
	require.Equal(t, p.OperationID, asked.RefundID)
	require.Zero(t, r.Count("SELECT count(*) FROM attempt"), "nothing was claimed by it")
}
