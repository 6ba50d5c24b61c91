package accept

import (
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// The invoice's payment is live when the invoice is asked for, and has failed when it
// is about to be shown: nothing stands in the way of the second click any more.
func TestI9_APaymentThatFailsBeforeItIsShownIsNoConflict(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	second := d.order(t, "k-2", "INV-1")
	err := pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		between := betweenTx{tx, "FROM unnest($1::uuid[], $2::uuid[])", &sync.Once{}, func() {
			settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
		}}
		_, err := d.rules.Accept(t.Context(), between, []Request{second})
		return err
	})
	require.ErrorIs(t, err, operation.ErrNotHeld, "which a committer answers by another try")
	again, err := d.commit(t).Accept(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, OutcomeAccepted, again.Outcome)
}
