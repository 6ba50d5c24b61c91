package accept

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// A refund failed here and took place there. Its money went out, whether or not a case has
// adopted it yet.
func TestI15_MoneyThatWentOutCountsBeforeItsCaseIsClosed(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	lost, err := d.refund(t, p, "r-1", "R-1", "4.00")
	require.NoError(t, err)
	for _, sql := range []string{
		"ALTER TABLE operation DISABLE TRIGGER USER", "ALTER TABLE payment_case DISABLE TRIGGER USER",
		fmt.Sprintf("UPDATE operation SET state = 'failed', next_attempt_at = NULL WHERE id = '%s'", lost.RefundID),
		fmt.Sprintf("UPDATE payment SET refunded_minor = 0 WHERE id = '%s'", p.ID),
		fmt.Sprintf(`INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, provider_object_id, amount_minor, currency,
			suspended, plan, waits_for) SELECT gen_random_uuid(), payment_id, id, 'captured_after_failed', provider_account, 're_1', amount_minor,
			currency, true, 'person', 'person' FROM operation WHERE id = '%s'`, lost.RefundID),
		"ALTER TABLE operation ENABLE TRIGGER USER", "ALTER TABLE payment_case ENABLE TRIGGER USER",
	} {
		_, err := d.Owner.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	barrier := d.isBarred(t, BarrierBeyondLimit, func() error { _, err := d.refund(t, p, "r-2", "R-2", "7.00"); return err })
	require.EqualValues(t, 600, barrier.Left.Minor())
	require.True(t, barrier.Doubted)
	all, err := d.refund(t, p, "r-2", "R-2", "")
	require.NoError(t, err)
	require.Equal(t, "6.00", all.Refund.Amount, "all that is left")
}

func TestI15_APaymentHasABoundedNumberOfRefunds(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	_, err := d.refund(t, p, "r-1", "R-1", "0.01")
	require.NoError(t, err)
	for _, sql := range []string{
		"ALTER TABLE operation DISABLE TRIGGER USER",
		fmt.Sprintf(`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, target_object_id, refund_reference,
			trace_parent, correlation_id, idempotency_key, state)
			SELECT gen_random_uuid(), payment_id, kind, provider_account, amount_minor, currency, target_object_id, 'N-' || n,
			trace_parent, correlation_id, idempotency_key, 'failed' FROM operation, generate_series(1, %d) n WHERE refund_reference = 'R-1'`,
			RefundsPerPaymentMax-2),
		"ALTER TABLE operation ENABLE TRIGGER USER",
	} {
		_, err := d.Owner.Exec(t.Context(), sql)
		require.NoError(t, err, sql)
	}
	_, err = d.refund(t, p, "r-2", "R-2", "0.01")
	require.NoError(t, err)
	d.isBarred(t, BarrierTooManyRefunds, func() error { _, err := d.refund(t, p, "r-3", "R-3", "0.01"); return err })
}
