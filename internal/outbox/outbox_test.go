package outbox_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// openPool opens a pool beside the test's own one.
func openPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func newID(t testing.TB) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return id
}

// captured is an event of the payment, told apart from others by n.
func captured(t testing.TB, payment uuid.UUID, n int) event.Event {
	t.Helper()
	return event.Event{
		ID: newID(t), Type: event.PaymentCaptured, Source: event.Source("main"), Topic: "payonce.events", Key: payment,
		Time:    time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Context: event.Context{CorrelationID: `quote " and backslash \ and ünïcode`, IdempotencyKey: "k-1"},
		Payload: fmt.Appendf(nil, `{"n":%d}`, n),
	}
}

// commit appends the events in one transaction.
func commit(t testing.TB, pool *pgxpool.Pool, events ...event.Event) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return outbox.Append(t.Context(), tx, events)
	}))
}

// stored is a row as the test reads it.
type stored struct {
	Lane    int16
	EventID uuid.UUID
	Topic   string
	Key     uuid.UUID
	Headers []event.Header
	Payload []byte
}

func storedRows(t testing.TB, pool *pgxpool.Pool, table string) []stored {
	t.Helper()
	rows, err := pool.Query(t.Context(), "SELECT lane, event_id, topic, key, headers, payload FROM "+table+" ORDER BY seq")
	require.NoError(t, err)
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stored])
	require.NoError(t, err)
	return found
}

func asStored(e event.Event) stored {
	return stored{outbox.Lane(e.Key), e.ID, e.Topic, e.Key, e.Headers(), e.Payload}
}

func TestAppendKeepsTheOrderOfItsEvents(t *testing.T) {
	t.Parallel()
	for name, mode := range map[string]string{"statement cache": "", "R7 through a transaction pooler": "&default_query_exec_mode=exec"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := openPool(t, testkit.NewDatabase(t).AppURL+mode)
			payments := []uuid.UUID{newID(t), newID(t), newID(t)}
			var events []event.Event
			var want []stored
			for n := range 500 {
				e := captured(t, payments[n%len(payments)], n)
				events, want = append(events, e), append(want, asStored(e))
			}
			commit(t, pool, events...)
			require.Equal(t, want, storedRows(t, pool, "outbox"), "R8: the headers are those of the moment of writing")
		})
	}
}

func TestP5_ARolledBackTransactionLeavesNoEvent(t *testing.T) {
	t.Parallel()
	pool := testkit.NewDatabase(t).App
	tx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, outbox.Append(t.Context(), tx, []event.Event{captured(t, newID(t), 1)}))
	require.NoError(t, tx.Rollback(t.Context()))
	require.Empty(t, storedRows(t, pool, "outbox"))
}

func TestAppendRefusesAPayloadBeyondTheLimit(t *testing.T) {
	t.Parallel()
	large := captured(t, newID(t), 1)
	large.Payload = make([]byte, event.PayloadBytesMax+1)
	var batch pgx.Batch
	err := outbox.Queue(&batch, []event.Event{captured(t, newID(t), 0), large})
	require.ErrorContains(t, err, "65537 bytes, more than 65536")
	require.ErrorContains(t, err, large.Key.String())
	require.Zero(t, batch.Len())
}

func TestAppendingNothingIsNoStatement(t *testing.T) {
	t.Parallel()
	require.NoError(t, outbox.Append(context.Background(), nil, nil))
}
