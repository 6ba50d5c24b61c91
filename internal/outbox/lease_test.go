package outbox_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

var (
	wide     = outbox.Limits{Lanes: outbox.Lanes, Rows: 100_000, Bytes: 64 << 20}
	allLanes = func() []int16 {
		lanes := make([]int16, outbox.Lanes)
		for i := range lanes {
			lanes[i] = int16(i)
		}
		return lanes
	}()
)

// lease takes what is there, and fails when there is nothing.
func lease(t testing.TB, r *outbox.Reader, limits outbox.Limits) *outbox.Lease {
	t.Helper()
	l, err := r.Lease(t.Context(), allLanes, limits)
	require.NoError(t, err)
	require.NotNil(t, l, "rows were expected")
	t.Cleanup(func() { l.Release(context.Background()) })
	return l
}

func allPublished(l *outbox.Lease) []outbox.Fate {
	fates := make([]outbox.Fate, len(l.Rows))
	for i := range fates {
		fates[i].Published = true
	}
	return fates
}

// drain publishes everything, as it were, and returns the payloads in order.
func drain(t testing.TB, r *outbox.Reader) []string {
	t.Helper()
	var payloads []string
	for {
		l, err := r.Lease(t.Context(), allLanes, wide)
		require.NoError(t, err)
		if l == nil {
			return payloads
		}
		for _, row := range l.Rows {
			payloads = append(payloads, string(row.Payload))
		}
		require.NoError(t, l.Settle(t.Context(), allPublished(l)))
	}
}

// inLane returns a payment of the lane.
func inLane(t testing.TB, lane int16) uuid.UUID {
	t.Helper()
	for {
		if id := newID(t); outbox.Lane(id) == lane {
			return id
		}
	}
}

func TestALeaseReturnsWhatWasAppended(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"statement cache": "", "R7 through a transaction pooler": "&default_query_exec_mode=exec"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := openPool(t, testkit.NewDatabase(t).AppURL+mode)
			first, second := inLane(t, 3), inLane(t, 9)
			events := []event.Event{captured(t, second, 0), captured(t, first, 1), captured(t, second, 2)}
			commit(t, pool, events...)
			reader := outbox.NewReader(pool)
			waiting, err := reader.Waiting(t.Context())
			require.NoError(t, err)
			require.Equal(t, []int16{3, 9}, waiting)

			l := lease(t, reader, wide)
			require.Len(t, l.Rows, 3)
			for i, e := range []event.Event{events[1], events[0], events[2]} {
				row := l.Rows[i]
				require.Equal(t, []any{e.ID, e.Key, e.Topic, e.Payload, false}, []any{row.EventID, row.Key, row.Topic, row.Payload, row.Behind})
				var headers []event.Header
				for _, h := range row.Headers {
					headers = append(headers, event.Header{Name: h.Name, Value: string(h.Value)})
				}
				require.Equal(t, e.Headers(), headers)
			}
			require.NoError(t, l.Settle(t.Context(), allPublished(l)))
			require.Empty(t, storedRows(t, pool, "outbox"))
			waiting, err = reader.Waiting(t.Context())
			require.NoError(t, err)
			require.Empty(t, waiting)
		})
	}
}

func TestALaneHasOneHolder(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	commit(t, database.App, captured(t, inLane(t, 3), 1))
	one, other := outbox.NewReader(database.App), outbox.NewReader(database.App)
	held := lease(t, one, wide)

	none, err := other.Lease(t.Context(), allLanes, wide)
	require.NoError(t, err)
	require.Nil(t, none, "the lane is taken")
	commit(t, database.App, captured(t, inLane(t, 4), 2))
	require.Equal(t, int16(4), lease(t, other, wide).Rows[0].Lane, "other lanes go on")

	held.Release(t.Context())
	require.Equal(t, int16(3), lease(t, other, wide).Rows[0].Lane)
}

func TestALeaseEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	commit(t, database.App, captured(t, inLane(t, 3), 1))
	dying := openPool(t, database.AppURL)
	held := lease(t, outbox.NewReader(dying), wide)
	_, err := database.App.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND state = 'idle in transaction'`)
	require.NoError(t, err)
	reader := outbox.NewReader(database.App)
	require.Eventually(t, func() bool {
		l, err := reader.Lease(t.Context(), allLanes, wide)
		require.NoError(t, err)
		if l != nil {
			l.Release(t.Context())
		}
		return l != nil
	}, time.Minute, 10*time.Millisecond, "a server process ends a moment after it was told to")
	require.Error(t, held.Settle(t.Context(), allPublished(held)))
	require.Len(t, storedRows(t, database.App, "outbox"), 1)
}

func TestLimitsBoundALeaseAndNoLaneStarves(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	for n := range 20 {
		for lane := range int16(8) {
			commit(t, pool, captured(t, inLane(t, lane), n))
		}
	}
	reader := outbox.NewReader(pool)
	count := map[int16]int{}
	for range 4 {
		l := lease(t, reader, outbox.Limits{Lanes: 2, Rows: 10, Bytes: 1 << 20})
		require.Len(t, l.Rows, 10)
		for _, row := range l.Rows {
			count[row.Lane]++
		}
		require.NoError(t, l.Settle(t.Context(), allPublished(l)))
	}
	require.Equal(t, map[int16]int{0: 5, 1: 5, 2: 5, 3: 5, 4: 5, 5: 5, 6: 5, 7: 5}, count)
}

func TestBytesBoundALeaseExceptForTheFirstRow(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	payment := newID(t)
	var large []event.Event
	for n := range 4 {
		e := captured(t, payment, n)
		e.Payload = []byte(strings.Repeat("x", event.PayloadBytesMax))
		large = append(large, e)
	}
	commit(t, pool, large...)
	reader := outbox.NewReader(pool)
	for bytes, rows := range map[int]int{1: 1, event.PayloadBytesMax / 2: 1, event.PayloadBytesMax * 3 / 2: 2, 1 << 20: 4} {
		l := lease(t, reader, outbox.Limits{Lanes: 4, Rows: 100, Bytes: bytes})
		require.Len(t, l.Rows, rows, "with %d bytes", bytes)
		l.Release(t.Context())
	}
}

func TestRowsThatSomebodyElseRemovedAreAnError(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	payment := newID(t)
	commit(t, pool, captured(t, payment, 1), captured(t, payment, 2))
	l := lease(t, outbox.NewReader(pool), wide)
	_, err := pool.Exec(t.Context(), "DELETE FROM outbox WHERE seq = $1", l.Rows[0].Seq)
	require.NoError(t, err)
	err = l.Settle(t.Context(), allPublished(l))
	require.ErrorIs(t, err, outbox.ErrRowsGone)
	require.ErrorContains(t, err, "1 of 2")
	require.Empty(t, storedRows(t, pool, "outbox"), "the other row was acknowledged and is gone")
}

func TestR2_AParkedRowKeepsLaterOnesOfItsPaymentBehindIt(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	poisoned, healthy := inLane(t, 3), inLane(t, 3)
	events := []event.Event{captured(t, poisoned, 0), captured(t, healthy, 1), captured(t, poisoned, 2)}
	commit(t, pool, events...)
	reader := outbox.NewReader(pool)
	l := lease(t, reader, wide)
	require.NoError(t, l.Settle(t.Context(), []outbox.Fate{{Parked: "too large"}, {Published: true}, {}}))
	require.Equal(t, []stored{asStored(events[0])}, storedRows(t, pool, "outbox_parked"))

	late := captured(t, poisoned, 3)
	commit(t, pool, late, captured(t, healthy, 4))
	l = lease(t, reader, wide)
	var behind []bool
	for _, row := range l.Rows {
		behind = append(behind, row.Behind)
	}
	require.Equal(t, []bool{true, true, false}, behind)
	require.NoError(t, l.Settle(t.Context(), []outbox.Fate{{Parked: "behind"}, {Parked: "behind"}, {Published: true}}))
	require.Equal(t, []stored{asStored(events[0]), asStored(events[2]), asStored(late)}, storedRows(t, pool, "outbox_parked"))
	require.Empty(t, storedRows(t, pool, "outbox"))
}

func TestAFateThatWasForgottenLeavesTheRow(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	commit(t, pool, captured(t, newID(t), 1))
	l := lease(t, outbox.NewReader(pool), wide)
	require.NoError(t, l.Settle(t.Context(), make([]outbox.Fate, 1)))
	require.Len(t, storedRows(t, pool, "outbox"), 1)
}

func TestStatsTellTheOldestAgeOfEachLane(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	commit(t, database.App, captured(t, inLane(t, 3), 1), captured(t, inLane(t, 9), 2), captured(t, inLane(t, 9), 3))
	_, err := database.Owner.Exec(t.Context(), "UPDATE outbox SET created_at = created_at - interval '1 hour' WHERE lane = 9")
	require.NoError(t, err)
	stats, err := outbox.NewReader(database.App).Stats(t.Context())
	require.NoError(t, err)
	require.Len(t, stats, 2)
	require.Equal(t, []int16{3, 9}, []int16{stats[0].Lane, stats[1].Lane})
	require.Less(t, stats[0].OldestAge, time.Minute)
	require.Greater(t, stats[1].OldestAge, 59*time.Minute)
	require.Equal(t, int64(1), stats[1].NewestSeq-stats[1].OldestSeq)
}

// begin opens a transaction that has its transaction id.
func begin(t testing.TB, d *testkit.Database) pgx.Tx {
	t.Helper()
	tx, err := d.Owner.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	_, err = tx.Exec(t.Context(), "SELECT pg_current_xact_id()")
	require.NoError(t, err)
	return tx
}

// drainUntil keeps lane 3 busy until done. What is appended is in order of seq.
func drainUntil(t testing.TB, d *testkit.Database, r *outbox.Reader, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for n := 0; !done(); n++ {
		require.True(t, time.Now().Before(deadline), "it takes too long")
		commit(t, d.App, captured(t, inLane(t, 3), n))
		require.NotEmpty(t, drain(t, r))
	}
}

func TestR5_ATransactionHeldOpenElsewhereHoldsNoCursorBack(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	reader := outbox.NewReader(database.App)
	begin(t, database)
	drainUntil(t, database, reader, func() bool { return reader.Cursor(3) > 20 })
}

// An accept is held open; its lane is drained past it, long enough for a cursor to
// settle by either proof; it commits, and its payment's cancel follows.
func TestR4_ALateCommitIsReadBeforeWhatFollowsIt(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	reader := outbox.NewReader(database.App)
	late := inLane(t, 3)
	accept := begin(t, database)
	require.NoError(t, outbox.Append(t.Context(), accept, []event.Event{captured(t, late, 1000)}))
	began := time.Now()
	drainUntil(t, database, reader, func() bool { return time.Since(began) > 500*time.Millisecond })
	require.Zero(t, reader.Cursor(3))
	require.NoError(t, accept.Commit(t.Context()))
	commit(t, database.App, captured(t, late, 1001))
	require.Equal(t, []string{`{"n":1000}`, `{"n":1001}`}, drain(t, reader))
}

// The writer of a row that has been read may be older than every transaction
// that runs, and still a lower seq may be to come: a transaction takes its id
// before it draws its seqs.
func TestR4_AnOldWriterIsNoProofThatNothingComesBeforeItsRow(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	reader := outbox.NewReader(database.App)
	older, younger := begin(t, database), begin(t, database)
	late := inLane(t, 3)
	require.NoError(t, outbox.Append(t.Context(), younger, []event.Event{captured(t, late, 1000)}))
	require.NoError(t, outbox.Append(t.Context(), older, []event.Event{captured(t, inLane(t, 3), 1)}))
	require.NoError(t, older.Commit(t.Context()))
	began := time.Now()
	drainUntil(t, database, reader, func() bool { return time.Since(began) > 500*time.Millisecond })
	require.Zero(t, reader.Cursor(3))
	require.NoError(t, younger.Commit(t.Context()))
	commit(t, database.App, captured(t, late, 1001))
	payloads := drain(t, reader)
	require.Less(t, slices.Index(payloads, `{"n":1000}`), slices.Index(payloads, `{"n":1001}`))
	require.Contains(t, payloads, `{"n":1000}`)
}
