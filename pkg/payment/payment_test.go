package payment_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/payment"
)

func ExampleOperationState_PaymentState() {
	fmt.Println(payment.OperationSucceeded.PaymentState(), payment.OperationUnknown.PaymentState())
	// Output: captured unknown
}

func TestP3_TheZeroVerdictProvesNothing(t *testing.T) {
	t.Parallel()
	var forgotten payment.Verdict
	require.Equal(t, payment.VerdictUnclear, forgotten)
	require.Equal(t, "unclear", payment.Verdict(99).String(), "an unheard-of verdict must not read as an outcome")
	for _, v := range []payment.Verdict{
		payment.VerdictUnclear, payment.VerdictCaptured, payment.VerdictDeclined, payment.VerdictNotTaken, payment.VerdictPending,
	} {
		again, err := payment.ParseVerdict(v.String())
		require.NoError(t, err)
		require.Equal(t, v, again)
	}
	_, err := payment.ParseVerdict("CAPTURED")
	require.Error(t, err)
}

func TestNoArrowLeavesAFinalState(t *testing.T) {
	t.Parallel()
	for _, a := range payment.Arrows() {
		require.False(t, a.From.Final(), "%s -> %s", a.From, a.To)
		require.NotEqual(t, a.From, a.To)
	}
}

func TestTheViewAlwaysRendersToTheSameBytes(t *testing.T) {
	t.Parallel()
	reference := "PO-7"
	at := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
	view := payment.View{
		ID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000001"), OperationID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000002"),
		State: payment.StateCaptured, Amount: "10.00", AmountMinor: "1000", Currency: "TRY", InvoiceID: "INV-1",
		PaymentType: "invoice", ExternalReference: &reference, Refunded: "0.00", CreatedAt: at, UpdatedAt: at,
	}
	body, err := view.Encode()
	require.NoError(t, err)
	require.Equal(t, `{"id":"0190a1b2-c3d4-7000-8000-000000000001","operationId":"0190a1b2-c3d4-7000-8000-000000000002",`+
		`"state":"captured","amount":"10.00","amountMinor":"1000","currency":"TRY","invoiceId":"INV-1","paymentType":"invoice",`+
		`"externalReference":"PO-7","reason":null,"refunded":"0.00","nextCheckAt":null,`+
		`"createdAt":"2026-05-04T03:02:01.123456Z","updatedAt":"2026-05-04T03:02:01.123456Z"}`, string(body))
}
