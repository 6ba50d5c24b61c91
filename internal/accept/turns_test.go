package accept

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

func TestOnePaymentHasOneTurnAndTheOthersShareTheRest(t *testing.T) {
	t.Parallel()
	turns, hot := newTurns(), uuid.New()
	leaveHot, err := turns.enter(t.Context(), hot)
	require.NoError(t, err)
	_, err = turns.enter(t.Context(), hot)
	require.ErrorIs(t, err, ErrBusy, "it waits KeyWaitMax, and holds nothing meanwhile")
	var leave []func()
	for range AmendmentsMax - 1 {
		other, err := turns.enter(t.Context(), uuid.New())
		require.NoError(t, err)
		leave = append(leave, other)
	}
	_, err = turns.enter(t.Context(), uuid.New())
	require.ErrorIs(t, err, ErrBusy)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.enter(gone, uuid.New())
	require.ErrorIs(t, explained(err), ErrUnavailable)
	leaveHot()
	again, err := turns.enter(t.Context(), hot)
	require.NoError(t, err)
	for _, l := range append(leave, again) {
		l()
	}
	require.Empty(t, turns.payments)
	require.Empty(t, turns.slots)
}

// A merchant refunds one payment from a hundred clients while its row is held.
func TestRefundsOfOnePaymentDoNotTakeTheConnectionsOfTheOthers(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	hot, other := d.capturedPayment(t, "INV-1"), d.capturedPayment(t, "INV-2")
	holder, err := d.Owner.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	_, err = operation.Lock(t.Context(), holder, []uuid.UUID{d.chargeOf(t, hot)})
	require.NoError(t, err)
	a := d.amendments()
	leave := d.crowd(t, a, hot)
	defer leave()
	d.awaitLockWait(t)
	_, err = a.Refund(t.Context(), RefundCommand{Amendment: d.about(other, "other"), Reference: "R-1", Amount: "1.00"})
	require.NoError(t, err)
	require.LessOrEqual(t, d.App.Stat().AcquiredConns(), int32(AmendmentsMax))
	// The crowd comes again and again, and one of it at a time is in the database.
	for range 200 {
		require.LessOrEqual(t, d.lockWaits(t), 1)
	}
}

// crowd are a hundred clients who ask for refunds of a held payment, and ask again,
// until they leave.
func (d *till) crowd(t *testing.T, a Amendments, hot payment.View) (leave func()) {
	t.Helper()
	var clients sync.WaitGroup
	var gone atomic.Bool
	for i := range 100 {
		clients.Go(func() {
			for !gone.Load() {
				_, err := a.Refund(t.Context(), RefundCommand{
					Amendment: d.about(hot, fmt.Sprint("hot-", i)), Reference: fmt.Sprint("R-", i), Amount: "0.01",
				})
				assert.ErrorIs(t, err, ErrBusy)
			}
		})
	}
	return func() {
		gone.Store(true)
		clients.Wait()
	}
}

// chargeOf is the operation that charges a payment.
func (d *till) chargeOf(t *testing.T, view payment.View) (id uuid.UUID) {
	t.Helper()
	rows, err := d.App.Query(t.Context(), "SELECT id FROM operation WHERE payment_id = $1 AND kind = 'charge'", view.ID)
	require.NoError(t, err)
	id, err = pgx.CollectExactlyOneRow(rows, pgx.RowTo[uuid.UUID])
	require.NoError(t, err)
	return id
}
