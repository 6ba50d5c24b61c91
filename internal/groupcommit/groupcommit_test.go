package groupcommit

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// patience only matters when a test fails.
const patience = 60 * time.Second

var errBad = errors.New("this request cannot be written")

// bench is a committer of one-row writes: request n locks slot n and is answered
// with its transaction's id.
type bench struct {
	*testkit.Database
	*Committer[int, string]
	applied atomic.Int64 // calls of apply
}

func newBench(t *testing.T, aloneLockWait time.Duration) *bench {
	t.Helper()
	b := &bench{Database: testkit.NewDatabase(t)}
	_, err := b.Owner.Exec(t.Context(), `CREATE TABLE slot (id integer PRIMARY KEY);
		INSERT INTO slot SELECT generate_series(0, 99); GRANT SELECT, UPDATE ON slot TO payonce_app`)
	require.NoError(t, err)
	b.Committer = New(b.App, Settings{
		GroupMax: 64, Committers: 1, QueueMax: 128, GroupLockWait: 50 * time.Millisecond, AloneLockWait: aloneLockWait, CommitWait: 10 * time.Second,
	}, b.apply)
	return b
}

// apply refuses negative requests.
func (b *bench) apply(ctx context.Context, tx pgx.Tx, group []int) ([]string, error) {
	b.applied.Add(1)
	answers := make([]string, len(group))
	for i, n := range group {
		if n < 0 {
			return nil, errBad
		}
		err := tx.QueryRow(ctx, "SELECT pg_current_xact_id()::text FROM slot WHERE id = $1 FOR UPDATE", n).Scan(&answers[i])
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

type answered struct {
	request int
	xid     string
	err     error
}

// ask sends requests from a goroutine each and returns where the answers come
// from, once all of them stand in the queue.
func (b *bench) ask(ctx context.Context, t *testing.T, requests ...int) <-chan answered {
	t.Helper()
	before := len(b.queue)
	answers := make(chan answered, len(requests))
	for _, n := range requests {
		go func() {
			xid, err := b.Do(ctx, n)
			answers <- answered{n, xid, err}
		}()
	}
	require.Eventually(t, func() bool { return len(b.queue) == before+len(requests) }, patience, time.Millisecond)
	return answers
}

// start runs the committer until the test ends.
func (b *bench) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

// hold locks slots in a transaction that the test ends.
func hold(t *testing.T, pool *pgxpool.Pool, slots ...int) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(t.Context(), "SELECT FROM slot WHERE id = ANY ($1) FOR UPDATE", slots)
	require.NoError(t, err)
	return tx
}

func TestRequestsThatWaitTogetherShareATransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	answers := b.ask(t.Context(), t, 1, 2, 3, 4)
	b.start(t)
	xids := map[string]bool{}
	for range 4 {
		a := <-answers
		require.NoError(t, a.err)
		xids[a.xid] = true
	}
	require.Len(t, xids, 1)
}

func TestARequestThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	answers := b.ask(t.Context(), t, 1, -1, 2)
	b.start(t)
	for range 3 {
		if a := <-answers; a.request < 0 {
			require.ErrorIs(t, a.err, errBad)
		} else {
			require.NoError(t, a.err)
		}
	}
}

// Its transaction was rolled back whole, so there is nothing to find out.
func TestARequestWhoseTransactionWasTheVictimOfADeadlockIsTriedOnceMore(t *testing.T) {
	t.Parallel()
	for deadlocks, want := range map[int64]int64{1: 2, 2: 2} {
		b := newBench(t, time.Second)
		b.Committer = New(b.App, b.settings, func(ctx context.Context, tx pgx.Tx, group []int) ([]string, error) {
			answers, err := b.apply(ctx, tx, group)
			if b.applied.Load() <= deadlocks {
				return nil, &pgconn.PgError{Code: "40P01"}
			}
			return answers, err
		})
		b.start(t)
		_, err := b.Do(t.Context(), 1)
		require.Equal(t, deadlocks == 2, postgres.IsLockConflict(err), "%v", err)
		require.Equal(t, want, b.applied.Load())
	}
}

func TestRequestsThatMeetAHeldRowKeepNobodyElseWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	var held, free []int
	for n := range 20 {
		held, free = append(held, n), append(free, 50+n)
	}
	holder := hold(t, b.App, held...)
	stuck := b.ask(t.Context(), t, held...)
	neighbours := b.ask(t.Context(), t, free...)
	b.start(t)
	for range free {
		require.NoError(t, (<-neighbours).err, "answered while the rows are held")
	}
	for range held { // also those for whom the lane was full
		a := <-stuck
		require.True(t, postgres.IsLockConflict(a.err), "%d: %v", a.request, a.err)
	}
	require.NoError(t, holder.Rollback(t.Context()))
	_, err := b.Do(t.Context(), held[0])
	require.NoError(t, err)
}

func TestARequestWaitsForARowThatIsLetGoInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t, patience)
	holder := hold(t, b.App, 7)
	stuck := b.ask(t.Context(), t, 7, 8)
	b.start(t)
	require.Equal(t, 8, (<-stuck).request)
	require.NoError(t, holder.Commit(t.Context()))
	a := <-stuck
	require.NoError(t, a.err)
	require.Equal(t, 7, a.request)
}

func TestACallerThatLeavesTakesNobodyWithIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	gone, leave := context.WithCancel(t.Context())
	left := b.ask(gone, t, 1)
	stayed := b.ask(t.Context(), t, 2, 3)
	leave()
	require.ErrorIs(t, (<-left).err, context.Canceled)
	b.start(t)
	for range 2 {
		require.NoError(t, (<-stayed).err)
	}
	require.Equal(t, int64(1), b.applied.Load())

	// And one that leaves while its group is being written.
	holder := hold(t, b.App, 4)
	gone, leave = context.WithCancel(t.Context())
	defer leave()
	result := make(chan error, 1)
	go func() {
		_, err := b.Do(gone, 4)
		result <- err
	}()
	require.Eventually(t, func() bool { return b.applied.Load() > 1 }, patience, time.Millisecond)
	leave()
	require.ErrorIs(t, <-result, context.Canceled)
	require.NoError(t, holder.Rollback(t.Context()))
	_, err := b.Do(t.Context(), 4)
	require.NoError(t, err)
}

func TestAnOutageIsAnsweredToAllAndNotRepeatedForEach(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	calls := 0
	b.Committer.apply = func(context.Context, pgx.Tx, []int) ([]string, error) {
		calls++
		return nil, &pgconn.PgError{Code: "57P01", Message: "terminating connection due to administrator command"}
	}
	answers := b.ask(t.Context(), t, 1, 2, 3)
	b.start(t)
	for range 3 {
		require.True(t, postgres.IsUnavailable((<-answers).err))
	}
	require.Equal(t, 1, calls)
}

func TestRunFinishesWhatIsQueuedAndThenTakesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	answers := b.ask(t.Context(), t, 1, 2, 3)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	b.Run(ended)
	for range 3 {
		require.NoError(t, (<-answers).err)
	}
	_, err := b.Do(t.Context(), 4)
	require.ErrorIs(t, err, ErrStopped)
}
