package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// refundAnswered is a refund of a captured payment, with an attempt that was answered
// like that.
func (d desk) refundAnswered(v payment.Verdict) operation.NewPayment {
	d.t.Helper()
	p := fixture.Accept(d.t, d.App)
	settle.Capture(d.t, d.App, payment.View{
		ID: p.PaymentID, OperationID: p.OperationID, Amount: p.Amount.Decimal(), Currency: p.Amount.Currency(),
	})
	refund := fixture.Refund(d.t, d.App, p, "R-1", 400)
	settle.Refund(d.t, d.App, payment.RefundView{
		ID: refund.OperationID, PaymentID: refund.PaymentID, Amount: refund.Amount.Decimal(), Currency: refund.Amount.Currency(),
	}, v)
	return refund
}

func TestU6_ARefundThatWaitsIsListedAndSettledByAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	refund := d.refundAnswered(payment.VerdictUnclear)
	require.Contains(t, d.does("unknown list"), refund.OperationID.String())
	d.forPerson(refund)
	d.SetNow(t, 2*time.Minute)
	failed := "unknown resolve " + refund.OperationID.String() + " --as failed --nothing-is-held"
	require.Contains(t, d.does(failed, why...), "would let the refund of 4.00 TRY of payment "+refund.PaymentID.String()+" fail")
	captured := "unknown resolve " + refund.OperationID.String() + " --as captured --object re_7 --amount 4 --execute --reason seen --by ada"
	decided := read[app.Decided](d, captured)
	require.Equal(t, []string{"unknown", "succeeded"}, []string{decided.From, decided.To})
	require.Contains(t, decided.Effect, "it is booked, and its merchant is told")
	require.Equal(t, 4, d.count("SELECT count(*) FROM ledger_entry"))
	require.Equal(t, 1, d.count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.RefundCompleted.v1'"))
	require.Equal(t, 400, d.count("SELECT refunded_minor FROM payment WHERE id = $1", refund.PaymentID))
}
