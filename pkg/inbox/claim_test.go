package inbox_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/inbox"
)

const consumer = "accounting"

// newMessages returns messages whose record timestamps are all now.
func newMessages(t testing.TB, n int) []inbox.Message {
	t.Helper()
	messages := make([]inbox.Message, n)
	for i := range messages {
		id, err := uuid.NewV7()
		require.NoError(t, err)
		messages[i] = inbox.Message{ID: id, RecordTime: time.Now()}
	}
	return messages
}

func begin(t testing.TB, pool *pgxpool.Pool) pgx.Tx {
	t.Helper()
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// claim claims in a transaction of its own and commits.
func claim(t testing.TB, pool *pgxpool.Pool, messages ...inbox.Message) inbox.Claimed {
	t.Helper()
	tx := begin(t, pool)
	claimed, err := inbox.Claim(t.Context(), tx, consumer, messages)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	return claimed
}

func setFloor(t testing.TB, db *testkit.Database, name string, floor time.Time) {
	t.Helper()
	_, err := db.Owner.Exec(t.Context(), `INSERT INTO inbox_floor (consumer, floor) VALUES ($1, $2)
		ON CONFLICT (consumer) DO UPDATE SET floor = excluded.floor`, name, floor)
	require.NoError(t, err)
}

func countProcessed(t testing.TB, pool *pgxpool.Pool) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), "SELECT count(*) FROM processed_message").Scan(&n))
	return n
}

// waitForLock returns once a session of the database waits for another one.
func waitForLock(t testing.TB, db *testkit.Database) {
	t.Helper()
	require.Eventually(t, func() bool {
		var waits bool
		err := db.Owner.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.datname = current_database())`).Scan(&waits)
		return err == nil && waits
	}, signalWait, 2*time.Millisecond)
}

func TestE3_AMessageIsFreshOnceAndThenARepeat(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 2)
	require.Equal(t, inbox.Claimed{inbox.Fresh}, claim(t, db.App, messages[0]))
	require.Equal(t, inbox.Claimed{inbox.Fresh, inbox.Repeat}, claim(t, db.App, messages[1], messages[0]))
	require.Equal(t, inbox.Claimed{inbox.Repeat, inbox.Repeat}, claim(t, db.App, messages...))
}

func TestE3_TheSameMessageTwiceInOneClaimIsFreshOnce(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	m := newMessages(t, 2)
	require.Equal(t, inbox.Claimed{inbox.Fresh, inbox.Fresh, inbox.Repeat, inbox.Repeat}, claim(t, db.App, m[1], m[0], m[1], m[0]))
}

func TestE3_ARolledBackClaimLeavesNothing(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 3)
	tx := begin(t, db.App)
	_, err := inbox.Claim(t.Context(), tx, consumer, messages)
	require.NoError(t, err)
	require.NoError(t, tx.Rollback(t.Context()))
	require.Equal(t, inbox.Claimed{inbox.Fresh, inbox.Fresh, inbox.Fresh}, claim(t, db.App, messages...))
}

func TestE3_ConsumersDoNotShareTheirMemory(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 1)
	claim(t, db.App, messages...)
	claimed, err := inbox.Claim(t.Context(), begin(t, db.App), "another", messages)
	require.NoError(t, err)
	require.Equal(t, inbox.Claimed{inbox.Fresh}, claimed)
}

func TestE3_NoMessagesNeedNoDatabase(t *testing.T) {
	t.Parallel()
	claimed, err := inbox.Claim(t.Context(), nil, consumer, nil)
	require.NoError(t, err)
	require.Empty(t, claimed)
}

// claimWhileHeld claims a message that another transaction holds, ends that one
// with end, and returns the answer.
func claimWhileHeld(t *testing.T, end func(context.Context, pgx.Tx) error) inbox.Standing {
	t.Helper()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 1)
	holder := begin(t, db.App)
	_, err := inbox.Claim(t.Context(), holder, consumer, messages)
	require.NoError(t, err)
	answer := make(chan inbox.Claimed, 1)
	waiter := begin(t, db.App)
	go func() {
		claimed, err := inbox.Claim(t.Context(), waiter, consumer, messages)
		if err != nil {
			close(answer)
			return
		}
		answer <- claimed
	}()
	waitForLock(t, db)
	require.NoError(t, end(t.Context(), holder))
	claimed := await(t, answer)
	require.Len(t, claimed, 1, "the claim failed")
	return claimed[0]
}

func TestE3_OfTwoTransactionsWithOneMessageTheSecondWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	t.Run("committed", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, inbox.Repeat, claimWhileHeld(t, func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) }))
	})
	t.Run("rolled back", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, inbox.Fresh, claimWhileHeld(t, func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) }))
	})
}

func TestE3_TransactionsWithTheSameMessagesInOppositeOrdersDoNotDeadlock(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 300)
	backwards := slices.Clone(messages)
	slices.Reverse(backwards)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		fresh int
	)
	for n := range 8 {
		order := messages
		if n%2 == 0 {
			order = backwards
		}
		wg.Go(func() {
			for part := range slices.Chunk(order, 100) {
				err := pgx.BeginFunc(t.Context(), db.App, func(tx pgx.Tx) error {
					claimed, err := inbox.Claim(t.Context(), tx, consumer, part)
					mu.Lock()
					defer mu.Unlock()
					for _, standing := range claimed {
						if standing == inbox.Fresh {
							fresh++
						}
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, len(messages), fresh)
	require.Equal(t, len(messages), countProcessed(t, db.App))
}

func TestE3_WorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	setFloor(t, db, consumer, time.Now().Add(-time.Minute))
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol, pgx.QueryExecModeDescribeExec} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			config, err := pgxpool.ParseConfig(db.AppURL)
			require.NoError(t, err)
			config.ConnConfig.DefaultQueryExecMode = mode
			pool, err := pgxpool.NewWithConfig(t.Context(), config)
			require.NoError(t, err)
			t.Cleanup(pool.Close)
			messages := newMessages(t, 2)
			require.Equal(t, inbox.Claimed{inbox.Fresh, inbox.Fresh}, claim(t, pool, messages...))
			require.Equal(t, inbox.Claimed{inbox.Repeat, inbox.Repeat}, claim(t, pool, messages...))
			old := newMessages(t, 1)
			old[0].RecordTime = time.Now().Add(-time.Hour)
			require.Equal(t, inbox.Claimed{inbox.BelowFloor}, claim(t, pool, old...))
		})
	}
}

func TestE3_AMessageBelowTheFloorIsRefusedUnlessItIsKnown(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	m := newMessages(t, 4)
	floor := time.Now().Truncate(time.Microsecond)
	m[0].RecordTime = floor.Add(-time.Microsecond)
	m[1].RecordTime = floor
	m[2].RecordTime = floor.Add(time.Hour)
	m[3].RecordTime = floor.Add(-time.Hour)
	require.Equal(t, inbox.Claimed{inbox.Fresh}, claim(t, db.App, m[3]), "no floor yet")
	setFloor(t, db, consumer, floor)
	require.Equal(t, inbox.Claimed{inbox.BelowFloor, inbox.Fresh, inbox.Fresh, inbox.Repeat}, claim(t, db.App, m...))
	require.Equal(t, inbox.Claimed{inbox.BelowFloor, inbox.Repeat, inbox.Repeat, inbox.Repeat}, claim(t, db.App, m...),
		"a refusal is no handling")
}

func TestE3_TwoCopiesAcrossTheFloorAreOneMessage(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	floor := time.Now()
	early := newMessages(t, 1)[0]
	late := early
	early.RecordTime, late.RecordTime = floor.Add(-time.Minute), floor.Add(time.Minute)
	setFloor(t, db, consumer, floor)
	require.Equal(t, inbox.Claimed{inbox.Repeat, inbox.Fresh}, claim(t, db.App, early, late))
}

// The deleter has raised the floor and deleted the id, and commits while the claim
// waits for it. The id is gone, so the INSERT succeeds, under a floor that it read
// before.
func TestE3_AFloorRaisedDuringTheClaimIsNoticed(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	messages := newMessages(t, 1)
	claim(t, db.App, messages...)
	deleter := begin(t, db.Owner)
	_, err := deleter.Exec(t.Context(), "INSERT INTO inbox_floor (consumer, floor) VALUES ($1, $2)", consumer, time.Now().Add(time.Hour))
	require.NoError(t, err)
	_, err = deleter.Exec(t.Context(), "DELETE FROM processed_message WHERE consumer = $1", consumer)
	require.NoError(t, err)
	waiter, failed := begin(t, db.App), make(chan error, 1)
	go func() {
		_, err := inbox.Claim(t.Context(), waiter, consumer, messages)
		failed <- err
	}()
	waitForLock(t, db)
	require.NoError(t, deleter.Commit(t.Context()))
	require.ErrorIs(t, await(t, failed), inbox.ErrFloorRaised)
	require.NoError(t, waiter.Rollback(t.Context()))
	require.Equal(t, inbox.Claimed{inbox.BelowFloor}, claim(t, db.App, messages...))
}

func TestE3_OnlyAReadCommittedTransactionMayClaim(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		tx, err := db.App.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: level})
		require.NoError(t, err)
		_, err = inbox.Claim(t.Context(), tx, consumer, newMessages(t, 1))
		require.ErrorContains(t, err, string(level))
		require.NoError(t, tx.Rollback(t.Context()))
	}
}
