package accept

import (
	"context"
	"errors"
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

func anybodys() place { return place{uuid.New(), uuid.New()} }

func TestOnePaymentHasOneTurnAndTheOthersShareTheRest(t *testing.T) {
	t.Parallel()
	turns, hot := newTurns(), anybodys()
	leaveHot, err := turns.enter(t.Context(), hot)
	require.NoError(t, err)
	_, err = turns.enter(t.Context(), hot)
	require.ErrorIs(t, err, ErrNoTurn, "it waits KeyWaitMax, and holds nothing meanwhile")
	var leave []func()
	for range AmendmentsMax - 1 {
		other, err := turns.enter(t.Context(), anybodys())
		require.NoError(t, err)
		leave = append(leave, other)
	}
	_, err = turns.enter(t.Context(), anybodys())
	require.ErrorIs(t, err, ErrNoTurn)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = turns.enter(gone, anybodys())
	require.ErrorIs(t, explained(err), ErrUnavailable)
	leaveHot()
	again, err := turns.enter(t.Context(), hot)
	require.NoError(t, err)
	for _, l := range append(leave, again) {
		l()
	}
	require.Empty(t, turns.lanes)
	require.Empty(t, turns.slots)
}

// One merchant's batch runs for as long as it likes.
func TestAMerchantWithALongLineLeavesTurnsToOthers(t *testing.T) {
	t.Parallel()
	turns, many := newTurns(), uuid.New()
	batch, stop := context.WithCancel(t.Context())
	var line sync.WaitGroup
	defer line.Wait()
	defer stop()
	for range merchantTurns {
		_, err := turns.enter(t.Context(), place{many, uuid.New()})
		require.NoError(t, err)
	}
	for range 20 {
		line.Go(func() {
			_, err := turns.enter(batch, place{many, uuid.New()})
			assert.Error(t, err)
		})
	}
	for range 50 {
		leave, err := turns.enter(t.Context(), anybodys())
		require.NoError(t, err)
		leave()
	}
}

// The lane of a payment is never that of its merchant, whatever a client asks for.
func TestAPaymentWithoutAnIDHasALaneOfItsOwn(t *testing.T) {
	t.Parallel()
	turns := newTurns()
	leave, err := turns.enter(t.Context(), place{uuid.New(), uuid.Nil})
	require.NoError(t, err)
	leave()
	require.Empty(t, turns.lanes)
}

// A merchant that names another one's payment is not in the way of its owner.
func TestI7_AnotherMerchantsLineAtAPaymentHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	turns, payment := newTurns(), uuid.New()
	leave, err := turns.enter(t.Context(), place{uuid.New(), payment})
	require.NoError(t, err)
	defer leave()
	owners, err := turns.enter(t.Context(), place{uuid.New(), payment})
	require.NoError(t, err)
	owners()
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
				assert.True(t, errors.Is(err, ErrBusy) || errors.Is(err, ErrNoTurn), "%v", err)
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
