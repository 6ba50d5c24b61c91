package operation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU2_AResendOrderIsGoodForOneAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.unknown()
	b.ordered(p)
	made := make([][]operation.Attempt, 8)
	var workers errgroup.Group
	for i := range made {
		workers.Go(func() (err error) {
			made[i], err = b.claims(10)
			return err
		})
	}
	require.NoError(t, workers.Wait())
	attempts := slices.Concat(made...)
	require.Len(t, attempts, 1)
	require.EqualValues(t, 2, attempts[0].Fence)
	require.True(t, attempts[0].FirstClaimedAt.Before(attempts[0].ClaimedAt), "the horizon counts from the first possible send")

	row := b.locked(p)
	require.Equal(t, payment.OperationUnknown, row.State, "a resend happens within unknown")
	require.NotNil(t, row.LeaseUntil)
	require.Nil(t, row.ResendFence)
	require.Nil(t, row.NextAttemptAt)
	require.Nil(t, row.NextCheckAt)
	past, err := operation.Attempts(t.Context(), b.App, []uuid.UUID{p.OperationID})
	require.NoError(t, err)
	require.Len(t, past[p.OperationID], 2)
	require.EqualValues(t, 2, past[p.OperationID][1].Fence)
}

func TestU2_OnlyAnUnknownOperationInNobodysHandsCanBeOrdered(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created, processing, leased, moved := fixture.Accept(t, b.App), fixture.Accept(t, b.App), b.unknown(), b.unknown()
	b.claimed(processing)
	b.ordered(leased)
	b.claimedDue(1)
	for name, stand := range map[string]operation.Stand{
		"waits to be sent": {OperationID: created.OperationID},
		"is being sent":    {OperationID: processing.OperationID, Fence: 1},
		"is being resent":  {OperationID: leased.OperationID, Fence: 2},
		"older fence":      {OperationID: moved.OperationID},
		"newer fence":      {OperationID: moved.OperationID, Fence: 2},
		"is not here":      {OperationID: uuid.New(), Fence: 1},
	} {
		stands, err := operation.OrderResend(t.Context(), b.App, stand)
		require.NoError(t, err, name)
		require.False(t, stands, name)
	}
}

// What was true when the order was given may not be true when it is taken up.
// The order then goes back to the reconciler: an order that nobody takes
// and nobody looks at would be a lost payment (P2).
func TestU2_AnOrderThatDoesNotHoldAnyMoreIsWithdrawn(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*bench, operation.NewPayment){
		"the provider's memory of the key ended": func(b *bench, _ operation.NewPayment) { b.SetNow(b.t, horizon+time.Second) },
		"the provider has no keys":               func(b *bench, _ operation.NewPayment) { b.claim.Served[0].Horizon = 0 },
		"the bytes would be others":              func(b *bench, _ operation.NewPayment) { b.claim.Served[0].Recipe = "recipe/2" },
		"captured meanwhile":                     func(b *bench, p operation.NewPayment) { b.told(p, "webhook", "captured") },
		"pending meanwhile":                      func(b *bench, p operation.NewPayment) { b.told(p, "inquiry", "pending") },
		"the last moment passed": func(b *bench, _ operation.NewPayment) {
			b.claim.Served[0].Horizon = 24 * time.Hour
			b.SetNow(b.t, 3*time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p, good := b.unknown(fixture.ChargeBefore(time.Now().Add(2*time.Hour))), fixture.Accept(t, b.App)
			b.dueIn(-1, good)
			b.ordered(p)
			spoil(b, p)
			require.Equal(t, []uuid.UUID{good.OperationID}, attempted(b.claimedDue(10)), "the others are claimed all the same")
			row := b.locked(p)
			require.Equal(t, payment.OperationUnknown, row.State)
			require.EqualValues(t, 1, row.Fence)
			require.Nil(t, row.ResendFence)
			require.NotNil(t, row.NextCheckAt, "it is looked at again")
			require.WithinRange(t, *row.NextCheckAt, row.Now, row.Now.Add(operation.PersonInterval))
		})
	}
}
