package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	lease     = 10 * time.Second
	allowance = 5 * time.Second
	horizon   = time.Hour
)

// bench is one test's database with a worker's way to claim.
type bench struct {
	*testkit.Database
	t     testing.TB
	pool  *pgxpool.Pool
	claim operation.Claim
}

func newBench(t testing.TB) *bench {
	t.Helper()
	db := testkit.NewDatabase(t)
	return &bench{Database: db, t: t, pool: db.App, claim: claimFor(fixture.Account)}
}

func claimFor(accounts ...string) operation.Claim {
	c := operation.Claim{Worker: "worker-1", Lease: lease, Allowance: allowance}
	for _, account := range accounts {
		c.Served = append(c.Served, operation.Served{Account: account, Recipe: "recipe/1", Horizon: horizon})
	}
	return c
}

// within runs f in a transaction of its own and commits it.
func within[Result any](ctx context.Context, pool *pgxpool.Pool, f func(pgx.Tx) (Result, error)) (Result, error) {
	var result Result
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		result, err = f(tx)
		return err
	})
	return result, err
}

func must[Result any](b *bench, f func(context.Context, pgx.Tx) (Result, error)) Result {
	b.t.Helper()
	result, err := within(b.t.Context(), b.pool, func(tx pgx.Tx) (Result, error) { return f(b.t.Context(), tx) })
	require.NoError(b.t, err)
	return result
}

func (b *bench) claimed(payments ...operation.NewPayment) []operation.Attempt {
	b.t.Helper()
	return must(b, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) {
		return b.claim.Claim(ctx, tx, operations(payments))
	})
}

func (b *bench) claimedDue(limit int) []operation.Attempt {
	b.t.Helper()
	attempts, err := b.claims(limit)
	require.NoError(b.t, err)
	return attempts
}

func (b *bench) locked(p operation.NewPayment) operation.Locked {
	b.t.Helper()
	rows := must(b, func(ctx context.Context, tx pgx.Tx) ([]operation.Locked, error) {
		return operation.Lock(ctx, tx, []uuid.UUID{p.OperationID})
	})
	require.Len(b.t, rows, 1)
	return rows[0]
}

// moved takes an operation from where it is to another standing.
func (b *bench) moved(p operation.NewPayment, to operation.Standing) error {
	_, err := within(b.t.Context(), b.pool, func(tx pgx.Tx) (bool, error) {
		rows, err := operation.Lock(b.t.Context(), tx, []uuid.UUID{p.OperationID})
		if err != nil {
			return false, err
		}
		var batch pgx.Batch
		operation.QueueMoves(&batch, []operation.Move{{From: rows[0], To: to}})
		return true, tx.SendBatch(b.t.Context(), &batch).Close()
	})
	return err
}

// unknown is an operation whose first attempt ended without a result.
func (b *bench) unknown(options ...fixture.Option) operation.NewPayment {
	b.t.Helper()
	p := fixture.Accept(b.t, b.pool, options...)
	require.Len(b.t, b.claimed(p), 1)
	at := b.locked(p).Now
	require.NoError(b.t, b.moved(p, operation.Standing{
		State: payment.OperationUnknown, Fence: 1, NextCheckAt: &at, OpenSince: &at, WaitsFor: operation.Machine,
	}))
	return p
}

func (b *bench) ordered(p operation.NewPayment) {
	b.t.Helper()
	stands, err := operation.OrderResend(b.t.Context(), b.pool, operation.Stand{OperationID: p.OperationID, Fence: b.locked(p).Fence})
	require.NoError(b.t, err)
	require.True(b.t, stands)
}

func (b *bench) checked(limit int) []operation.Check {
	b.t.Helper()
	checks, err := operation.TakeChecks(b.t.Context(), b.pool, []string{fixture.Account}, limit, lease)
	require.NoError(b.t, err)
	return checks
}

// told stores evidence without letting anything follow from it.
func (b *bench) told(p operation.NewPayment, source, verdict string) {
	b.t.Helper()
	_, err := b.pool.Exec(b.t.Context(), `INSERT INTO evidence (id, operation_id, source, verdict, asked_at, hash)
		VALUES (gen_random_uuid(), $1, $2, $3, payonce_now(), sha256(''))`, p.OperationID, source, verdict)
	require.NoError(b.t, err)
}

// claims is ClaimDue in a transaction of its own, for goroutines.
func (b *bench) claims(limit int) ([]operation.Attempt, error) {
	return within(b.t.Context(), b.pool, func(tx pgx.Tx) ([]operation.Attempt, error) {
		return b.claim.ClaimDue(b.t.Context(), tx, limit)
	})
}

// dueIn sets when the due list takes created operations, seconds from now.
func (b *bench) dueIn(seconds int, payments ...operation.NewPayment) {
	b.t.Helper()
	due := "UPDATE operation SET next_attempt_at = payonce_now() + make_interval(secs => $2) WHERE id = ANY ($1)"
	_, err := b.pool.Exec(b.t.Context(), due, operations(payments), seconds)
	require.NoError(b.t, err)
}

func (b *bench) count(sql string, args ...any) int {
	b.t.Helper()
	var n int
	require.NoError(b.t, b.pool.QueryRow(b.t.Context(), sql, args...).Scan(&n))
	return n
}

func operations(payments []operation.NewPayment) []uuid.UUID {
	ids := make([]uuid.UUID, len(payments))
	for i, p := range payments {
		ids[i] = p.OperationID
	}
	return ids
}

func attempted(attempts []operation.Attempt) []uuid.UUID {
	ids := make([]uuid.UUID, len(attempts))
	for i, a := range attempts {
		ids[i] = a.OperationID
	}
	return ids
}
