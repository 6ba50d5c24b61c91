package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// Through a transaction-pooling pgbouncer there are no prepared statements that
// could say what a parameter's type is: every statement must say it itself.
func TestR7_EverythingWorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var err error
	b.pool, err = postgres.Open(t.Context(), b.AppURL+"&default_query_exec_mode=exec", postgres.PoolOptions{})
	require.NoError(t, err)
	defer b.pool.Close()
	accounts := []string{fixture.Account}
	before := time.Now().Add(30 * time.Minute)

	reference := "PO-1"
	p := fixture.Accept(t, b.pool, fixture.ChargeBefore(before), func(p *operation.NewPayment) {
		p.ExternalReference, p.Metadata, p.Customer = &reference, []byte(`{"order": "7"}`), "cus_1"
	})
	again := p
	again.PaymentID, again.InvoiceID = uuid.Must(uuid.NewV7()), "INV-2"
	require.Equal(t, map[uuid.UUID]uuid.UUID{again.PaymentID: p.PaymentID}, b.held(again))
	must(b, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return true, operation.Park(ctx, tx, operations([]operation.NewPayment{p}), time.Second, "breaker-open")
	})
	addresses, err := operation.Addresses(t.Context(), b.pool, operations([]operation.NewPayment{p}))
	require.NoError(t, err)
	require.Len(t, addresses, 1)
	require.Equal(t, "breaker-open", *b.view(p).Reason)

	b.SetNow(t, 2*time.Second)
	require.Len(t, b.claimedDue(10), 1)
	b.SetNow(t, time.Minute)
	must(b, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		rows, err := operation.LockExpired(ctx, tx, accounts, 10)
		require.NoError(t, err)
		require.Len(t, rows, 1)
		to := operation.Standing{
			State: payment.OperationUnknown, Reason: new("lease-ran-out"), Fence: 2, NextCheckAt: &rows[0].Now, OpenSince: &rows[0].Now,
			WaitsFor: operation.Machine, ProviderObjectID: new("ch_1"),
		}
		move := operation.Move{From: rows[0], To: to}
		var batch pgx.Batch
		operation.QueueFinished(&batch, []operation.Finished{{OperationID: p.OperationID, Fence: 1}})
		operation.QueueMoves(&batch, []operation.Move{move})
		told := operation.History{PaymentID: p.PaymentID, OperationID: p.OperationID, To: to.State}
		if err := operation.QueueHistory(&batch, []operation.History{told}); err != nil {
			return false, err
		}
		return true, tx.SendBatch(ctx, &batch).Close()
	})
	past, err := operation.Attempts(t.Context(), b.pool, operations([]operation.NewPayment{p}))
	require.NoError(t, err)
	require.True(t, past[p.OperationID][0].Finished)

	checks := b.checked(10)
	require.Len(t, checks, 1)
	stand := operation.Stand{OperationID: p.OperationID, Fence: checks[0].Fence}
	set, err := operation.LookAgain(t.Context(), b.pool, stand, time.Second, operation.Machine)
	require.NoError(t, err)
	require.True(t, set)
	set, err = operation.HandToPerson(t.Context(), b.pool, stand, "for-a-person")
	require.NoError(t, err)
	require.True(t, set)
	b.ordered(p)
	attempts := b.claimedDue(10)
	require.Len(t, attempts, 1)
	require.EqualValues(t, 3, attempts[0].Fence)

	created := fixture.Accept(t, b.pool, fixture.ChargeBefore(before))
	b.SetNow(t, time.Hour)
	late, _, err := operation.Overdue(t.Context(), b.pool, accounts, 10)
	require.NoError(t, err)
	require.Equal(t, []uuid.UUID{created.OperationID}, late)
	must(b, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return true, operation.LockIdentities(ctx, tx, []uuid.UUID{created.PaymentID})
	})
	expired := operation.Standing{State: payment.OperationFailed, Reason: new("expired"), WaitsFor: operation.Machine}
	require.NoError(t, b.moved(created, expired))
}
