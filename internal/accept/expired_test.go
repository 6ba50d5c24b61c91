package accept

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

func TestI12_WhoIsTooOldIsShownWhatHoldsTheInvoiceAndNothingElse(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	paidKey, declinedKey := newKey(t, 0), newKey(t, 0)
	paid := d.accept(t, d.order(t, paidKey, "INV-1"))[0]
	declined := d.accept(t, d.order(t, declinedKey, "INV-2"))[0]
	settle.Charge(t, d.App, paid.Payment, payment.VerdictCaptured)
	settle.Charge(t, d.App, declined.Payment, payment.VerdictDeclined)
	d.SetNow(t, swept)
	require.Equal(t, 2, d.sweep(t))

	results := d.accept(t, d.order(t, paidKey, "INV-1"), d.order(t, declinedKey, "INV-2"))
	for _, r := range results {
		require.Equal(t, OutcomeExpired, r.Outcome)
	}
	require.Equal(t, paid.PaymentID, results[0].Holder().ID)
	require.Equal(t, payment.StateCaptured, results[0].Holder().State)
	require.Nil(t, results[1].Holder(), "it let its invoice go")
}
