package outcome_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// What a case gives back was never the merchant's payment: it must not read as a refund
// of it.
func TestAMerchantsHistoryLeavesOutWhatACaseGivesBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_2")))
	require.Len(t, d.carryOut(refunds), 1)
	var ours int
	require.NoError(t, d.pool.QueryRow(t.Context(), `SELECT count(*) FROM payment_history h JOIN operation o ON o.id = h.operation_id
		WHERE h.payment_id = $1 AND o.case_id IS NOT NULL`, p.PaymentID).Scan(&ours))
	require.Positive(t, ours)
	page := operation.HistoryPage{Owned: operation.Owned{PaymentID: p.PaymentID, MerchantID: p.MerchantID}, Limit: 100}
	entries, more, err := operation.ReadHistory(t.Context(), d.pool, page)
	require.NoError(t, err)
	require.False(t, more)
	for _, e := range entries {
		require.Equal(t, p.OperationID, e.OperationID)
		require.Equal(t, payment.KindCharge, e.Kind)
	}
	require.Equal(t, payment.OperationSucceeded, entries[len(entries)-1].To)
}
