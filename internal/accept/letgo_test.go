package accept

import (
	"context"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// The invoice's payment is live when the invoice is asked for, and has failed when it
// is about to be shown: nothing stands in the way of the second click any more, and its
// client, who is alone in its group, hears of no conflict.
func TestI9_APaymentThatFailsBeforeItIsShownIsNoConflict(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	second := d.order(t, "k-2", "INV-1")
	var tries []error
	once := &sync.Once{}
	committer := newCommitter(d.App, func(ctx context.Context, tx pgx.Tx, group []Request) ([]Result, error) {
		between := betweenTx{tx, "FROM unnest($1::uuid[], $2::uuid[])", once, func() {
			settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
		}}
		results, err := d.rules.Accept(ctx, between, group)
		tries = append(tries, err)
		return results, err
	})
	start(t, committer)
	result, err := committer.Accept(t.Context(), second)
	require.NoError(t, err)
	require.Equal(t, OutcomeAccepted, result.Outcome)
	require.Len(t, tries, 2)
	require.ErrorIs(t, tries[0], operation.ErrNotHeld)
}
