package operation_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestALockedOperationIsAllThatIsStored(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reference, before := "PO-1", time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	p := fixture.Accept(t, b.App, fixture.ChargeBefore(before), func(p *operation.NewPayment) { p.ExternalReference = &reference })
	row := b.locked(p)
	nothing, err := money.New(0, "TRY")
	require.NoError(t, err)
	require.True(t, before.Equal(*row.ChargeBefore))
	require.Equal(t, operation.MessageGrace, row.NextAttemptAt.Sub(row.Payment.CreatedAt))
	require.WithinDuration(t, time.Now(), row.Now, time.Minute)
	require.Equal(t, operation.Locked{
		ID: p.OperationID, PaymentID: p.PaymentID, MerchantID: p.MerchantID, Kind: payment.KindCharge, ProviderAccount: fixture.Account,
		Amount: p.Amount, ChargeBefore: row.ChargeBefore, CreatedAt: row.CreatedAt, Now: row.Now,
		Standing: operation.Standing{State: payment.OperationCreated, NextAttemptAt: row.NextAttemptAt, WaitsFor: operation.Machine},
		Payment: operation.Payment{
			State: payment.StateCreated, Amount: p.Amount, InvoiceID: p.InvoiceID, PaymentType: p.PaymentType,
			ExternalReference: &reference, Refunded: nothing, CreatedAt: row.Payment.CreatedAt, Context: p.Context,
		},
	}, row)
}

func TestLockersInOppositeOrderDoNotMeetInACircle(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var ids []uuid.UUID
	for range 40 { // one by one and with random ids, so that the rows lie in no order
		p := fixture.Accept(t, b.App, func(p *operation.NewPayment) { p.PaymentID, p.OperationID = uuid.New(), uuid.New() })
		ids = append(ids, p.OperationID)
	}
	backwards := slices.Clone(ids)
	slices.Reverse(backwards)
	var lockers errgroup.Group
	for _, order := range [][]uuid.UUID{ids, backwards, ids[10:30], append(slices.Clone(backwards), uuid.New())} {
		lockers.Go(func() error {
			for range 25 {
				rows, err := within(t.Context(), b.App, func(tx pgx.Tx) ([]operation.Locked, error) {
					return operation.Lock(t.Context(), tx, order)
				})
				if err != nil {
					return err
				}
				if len(rows) != min(len(order), len(ids)) || !slices.IsSortedFunc(rows, byPayment) {
					t.Errorf("%d rows for %d ids", len(rows), len(order))
				}
			}
			return nil
		})
	}
	require.NoError(t, lockers.Wait(), "no deadlock")
}

func byPayment(a, b operation.Locked) int { return slices.Compare(a.PaymentID[:], b.PaymentID[:]) }

func TestALockThatIsNotToBeHadIsALockConflict(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	holder, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	_, err = operation.Lock(t.Context(), holder, []uuid.UUID{p.OperationID})
	require.NoError(t, err)
	for name, lock := range map[string]func(pgx.Tx) error{
		"operation": func(tx pgx.Tx) error {
			_, err := operation.Lock(t.Context(), tx, []uuid.UUID{p.OperationID})
			return err
		},
		"claim": func(tx pgx.Tx) error {
			_, err := b.claim.Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
			return err
		},
	} {
		_, err = within(t.Context(), b.App, func(tx pgx.Tx) (bool, error) {
			if _, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '20ms'"); err != nil {
				return false, err
			}
			return true, lock(tx)
		})
		require.True(t, postgres.IsLockConflict(err), "%s: %v", name, err)
	}
}

func TestWhoMayReleaseAnIdentityLocksItFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	holder, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	require.NoError(t, operation.LockIdentities(t.Context(), holder, nil), "nothing to lock is no statement")
	require.NoError(t, operation.LockIdentities(t.Context(), holder, []uuid.UUID{p.PaymentID}))
	_, err = b.App.Exec(t.Context(), "SELECT FROM invoice_identity WHERE payment_id = $1 FOR UPDATE NOWAIT", p.PaymentID)
	require.True(t, postgres.IsLockConflict(err), "%v", err)
}

func TestAMoveOfARowThatIsNotThereAnyMoreIsNoSilence(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	canceled := operation.Standing{State: payment.OperationCanceled, WaitsFor: operation.Machine}
	for name, change := range map[string]func(*operation.Locked){
		"another state": func(l *operation.Locked) { l.State = payment.OperationPending },
		"another fence": func(l *operation.Locked) { l.Fence = 7 },
		"not here":      func(l *operation.Locked) { l.ID = uuid.New() },
	} {
		stale := b.locked(p)
		change(&stale)
		_, err := within(t.Context(), b.App, func(tx pgx.Tx) (bool, error) {
			var batch pgx.Batch
			operation.QueueMoves(&batch, []operation.Move{{From: stale, To: canceled}})
			return true, tx.SendBatch(t.Context(), &batch).Close()
		})
		require.ErrorIs(t, err, operation.ErrMoved, name)
		require.Equal(t, payment.OperationCreated, b.locked(p).State, name)
	}
}

func TestP3_AMoveThatNothingProvesIsTheDatabasesRefusal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	b.claimed(p)
	err := b.moved(p, operation.Standing{State: payment.OperationSucceeded, Fence: 1, WaitsFor: operation.Machine})
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "operation_move_is_proven", refused.ConstraintName)
}

func TestAPaymentFollowsItsChargeAndNoOtherOperation(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	void := operation.NewPayment{OperationID: uuid.Must(uuid.NewV7())}
	_, err := b.App.Exec(t.Context(), `INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency)
		VALUES ($1, $2, 'void', 'card', 1000, 'TRY')`, void.OperationID, p.PaymentID)
	require.NoError(t, err)
	canceled := operation.Standing{State: payment.OperationCanceled, Reason: new("not-needed"), WaitsFor: operation.Machine}

	require.NoError(t, b.moved(void, canceled))
	require.Equal(t, payment.StateCreated, fixture.State(t, b.App, p))
	require.Equal(t, 1, b.count("SELECT count(*) FROM invoice_identity"), "a void's end frees no invoice")

	require.NoError(t, b.moved(p, canceled))
	require.Equal(t, payment.StateCanceled, fixture.State(t, b.App, p))
	require.Zero(t, b.count("SELECT count(*) FROM invoice_identity"))
}
