package intake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/intake"
)

// cutTx ends the caller's context in front of one of the statements, counted from 0.
// The driver then sends nothing, and aborts nothing.
type cutTx struct {
	pgx.Tx

	left *int
	cut  func()
}

func (c cutTx) tick() {
	if *c.left--; *c.left < 0 {
		c.cut()
	}
}

func (c cutTx) Begin(ctx context.Context) (pgx.Tx, error) {
	c.tick()
	step, err := c.Tx.Begin(ctx)
	return cutTx{step, c.left, c.cut}, err
}

func (c cutTx) Commit(ctx context.Context) error {
	c.tick()
	return c.Tx.Commit(ctx)
}

func (c cutTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c.tick()
	return c.Tx.Exec(ctx, sql, args...)
}

func (c cutTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c.tick()
	return c.Tx.Query(ctx, sql, args...)
}

func (c cutTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c.tick()
	return c.Tx.QueryRow(ctx, sql, args...)
}

func (c cutTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	c.tick()
	return c.Tx.SendBatch(ctx, b)
}

// The caller commits whatever happened, in front of which statement its context ended.
// The driver closes the connection for some of them, and then nothing is committed.
func TestI1_AContextThatEndsInSubmitLeavesAWholePaymentOrNone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sales, usable := 0, 0
	for n := 0; ; n++ {
		command := s.command(t, fmt.Sprint("k-", n), fmt.Sprint("INV-", n))
		failure, committed := s.cut(t, n, command)
		whole := n // each of those before was repeated, and came to a payment
		if failure == nil {
			require.NoError(t, committed)
			whole++
		} else {
			require.ErrorIs(t, failure, context.Canceled)
		}
		if committed == nil {
			sales++
			usable++
		}
		require.Equal(t, sales, s.count(t, "shop.sale"))
		for _, table := range []string{"idempotency_key", "invoice_identity", "public.payment", "operation", "payment_history", "outbox"} {
			require.Equal(t, whole, s.count(t, table), "%s, cut in front of statement %d", table, n)
		}
		again, err := s.sell(t, command.InvoiceID+" again", command)
		require.NoError(t, err)
		require.Equal(t, failure == nil, again.Replayed)
		if sales++; failure == nil {
			require.Greater(t, n, 8, "statements were cut")
			require.Greater(t, usable, 4, "and the transaction used further")
			return
		}
	}
}

// cut sells, with a context that ends in Submit, and commits all the same.
func (s *shop) cut(t *testing.T, before int, command intake.Command) (failure, committed error) {
	t.Helper()
	ctx, cut := context.WithCancel(t.Context())
	defer cut()
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "INSERT INTO sale (id) VALUES ($1)", command.InvoiceID)
	require.NoError(t, err)
	_, failure = s.intake.Submit(ctx, cutTx{tx, &before, cut}, command)
	return failure, tx.Commit(t.Context())
}

// Where there is no way back, there is no way on either.
func TestI1_ATransactionThatCannotGoBackCannotBeCommitted(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	tx, err := s.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = s.intake.Submit(t.Context(), stuckTx{tx}, s.command(t, "k-1", "INV-1"))
	require.ErrorIs(t, err, errStuck)
	require.Error(t, tx.Commit(t.Context()))
	require.Zero(t, s.count(t, "idempotency_key"))
}

var errStuck = errors.New("the savepoint could not be released")

// stuckTx can neither release its savepoint nor go back to it.
type stuckTx struct{ pgx.Tx }

func (s stuckTx) Begin(ctx context.Context) (pgx.Tx, error) {
	step, err := s.Tx.Begin(ctx)
	return stuckTx{step}, err
}
func (stuckTx) Commit(context.Context) error   { return errStuck }
func (stuckTx) Rollback(context.Context) error { return errStuck }

func TestP2_ATransactionWhoseCommitACrashCouldTakeBackIsRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL synchronous_commit = off")
		require.NoError(t, err)
		_, err = s.intake.Submit(t.Context(), tx, s.command(t, "k-1", "INV-1"))
		return err
	})
	require.ErrorIs(t, err, intake.ErrDurability)
}
