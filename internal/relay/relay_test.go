package relay_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/relay"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

func TestMain(m *testing.M) {
	if os.Getenv(childKindEnv) != "" {
		runChild()
		return
	}
	testkit.Main(m)
}

// bundle is a database, a broker and what a test does with them.
type bundle struct {
	t        *testing.T
	database *testkit.Database
	broker   testkit.Broker
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	return &bundle{t: t, database: testkit.NewDatabase(t), broker: testkit.NewFakeBroker(t)}
}

// newRelay returns a relay with a pool and a client of its own.
func (b *bundle) newRelay(options ...kgo.Opt) *relay.Relay {
	b.t.Helper()
	log := zaptest.NewLogger(b.t, zaptest.Level(zap.InfoLevel))
	pool, err := postgres.Open(b.t.Context(), b.database.AppURL, postgres.PoolOptions{ConnsMax: relay.Steps, ApplicationName: "relay"})
	require.NoError(b.t, err)
	b.t.Cleanup(pool.Close)
	all := append(kafka.Options(kafka.Config{Brokers: b.broker.Addrs, ClientID: "relay", Log: zap.NewNop()}), kafka.Producer()...)
	client, err := kgo.NewClient(append(all, options...)...)
	require.NoError(b.t, err)
	b.t.Cleanup(client.Close)
	return relay.New(relay.Config{Topics: b.broker.Topics.All()}, pool, client, log)
}

// start runs the relay until stop is called or the test ends. stop returns when
// Run has.
func (b *bundle) start(r *relay.Relay) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = r.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.t.Cleanup(stop)
	return stop
}

func newID(t testing.TB) uuid.UUID {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	return id
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

// captured is an event of the payment, told apart from others by n.
func (b *bundle) captured(payment uuid.UUID, n int) event.Event {
	b.t.Helper()
	return event.Event{
		ID: newID(b.t), Type: event.PaymentCaptured, Source: event.Source("main"), Topic: b.broker.Topics.Events, Key: payment,
		Time: time.Now(), Context: event.Context{
			TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", CorrelationID: "correlation",
			CausationID: "cause", IdempotencyKey: "key",
		},
		Payload: fmt.Appendf(nil, `{"n":%d}`, n),
	}
}

// commit appends the events in one transaction.
func (b *bundle) commit(events ...event.Event) {
	b.t.Helper()
	commit(b.t, b.database.App, events...)
}

func commit(t testing.TB, pool *pgxpool.Pool, events ...event.Event) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return outbox.Append(t.Context(), tx, events)
	}))
}

// count returns how many rows the query selects, as the application sees them:
// of pg_stat_activity a role sees only its own sessions.
func (b *bundle) count(query string) int {
	b.t.Helper()
	var n int
	require.NoError(b.t, b.database.App.QueryRow(b.t.Context(), "SELECT count(*) FROM "+query).Scan(&n))
	return n
}

// consumer reads a topic from its beginning.
type consumer struct {
	t      *testing.T
	client *kgo.Client
}

func (b *bundle) consume(topic string) *consumer {
	b.t.Helper()
	return &consumer{b.t, b.broker.Client(b.t, kgo.ConsumeTopics(topic), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))}
}

// next returns n records, in the order of their offsets within a partition.
func (c *consumer) next(n int) []*kgo.Record {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	var records []*kgo.Record
	for len(records) < n {
		fetches := c.client.PollRecords(ctx, n-len(records))
		require.NoError(c.t, fetches.Err0())
		records = append(records, fetches.Records()...)
	}
	return records
}

// all returns every record that is in the topic now.
func (c *consumer) all() []*kgo.Record {
	c.t.Helper()
	return c.next(c.end())
}

func values(records []*kgo.Record) []string {
	var found []string
	for _, r := range records {
		found = append(found, string(r.Value))
	}
	return found
}
