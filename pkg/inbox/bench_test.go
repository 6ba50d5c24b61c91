package inbox_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// signalWait bounds every wait for something that must happen. It is shorter than the
// minute for which a rebalance waits for a member: who has waited for that, fails.
const signalWait = 50 * time.Second

// bench is a broker, a database with a table of effects, and a producer.
type bench struct {
	t        *testing.T
	db       *testkit.Database
	broker   testkit.Broker
	producer *kgo.Client
	admin    *kadm.Client
	// committed and aborted are the consumers' Config.Committed and Aborted.
	committed func(context.Context, []inbox.Received)
	aborted   func(context.Context, bool)
}

// newBench has no unique key in its table of effects, so that a second effect of a
// message is seen and not refused.
func newBench(t *testing.T, broker testkit.Broker) *bench {
	t.Helper()
	db := testkit.NewDatabase(t)
	_, err := db.Owner.Exec(t.Context(), `CREATE TABLE effect (ordinal bigint GENERATED ALWAYS AS IDENTITY, message_id uuid NOT NULL);
		GRANT SELECT, INSERT ON effect TO payonce_app`)
	require.NoError(t, err)
	client := broker.Client(t, kgo.ProducerBatchMaxBytes(2<<20))
	return &bench{t: t, db: db, broker: broker, producer: client, admin: kadm.NewClient(client)}
}

// newRecord is an event as the relay would publish it.
func (b *bench) newRecord(key uuid.UUID, kind event.Type) *kgo.Record {
	b.t.Helper()
	id, err := uuid.NewV7()
	require.NoError(b.t, err)
	e := event.Event{ID: id, Type: kind, Source: event.Source("test"), Key: key, Time: time.Now(), Payload: []byte(`{"a":1}`)}
	r := &kgo.Record{Topic: b.broker.Topics.Events, Key: []byte(key.String()), Value: e.Payload}
	for _, h := range e.Headers() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return r
}

// newRecords returns captures of n payments.
func (b *bench) newRecords(n int) []*kgo.Record {
	b.t.Helper()
	records := make([]*kgo.Record, n)
	for i := range records {
		records[i] = b.newRecord(uuid.New(), event.PaymentCaptured)
	}
	return records
}

// publish publishes copies, because the client writes into what it is given.
func (b *bench) publish(records ...*kgo.Record) {
	b.t.Helper()
	copies := make([]*kgo.Record, len(records))
	for i, r := range records {
		copies[i] = &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers, Timestamp: r.Timestamp}
	}
	require.NoError(b.t, b.producer.ProduceSync(b.t.Context(), copies...).FirstErr())
}

// running is a consumer at work.
type running struct {
	cancel context.CancelFunc
	result chan error
	once   sync.Once
	err    error
}

// stop asks the consumer to stop and returns what Run returned.
func (r *running) stop() error {
	r.cancel()
	return r.wait()
}

// wait returns what Run returned, once it has.
func (r *running) wait() error {
	r.once.Do(func() { r.err = <-r.result })
	return r.err
}

// start runs a consumer of the group until the test ends.
func (b *bench) start(group string, pool *pgxpool.Pool, handler inbox.Handler) *running {
	b.t.Helper()
	c, err := inbox.NewConsumer(inbox.Config{
		Name: consumer, Group: b.group(group), Brokers: b.broker.Addrs,
		Topic: b.broker.Topics.Events, DeadLetters: b.broker.Topics.DeadLetters,
		Types: []event.Type{event.PaymentCaptured}, Committed: b.committed, Aborted: b.aborted, Log: zaptest.NewLogger(b.t),
	}, pool, handler, kgo.HeartbeatInterval(100*time.Millisecond), kgo.FetchMaxWait(100*time.Millisecond))
	require.NoError(b.t, err)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{cancel: cancel, result: make(chan error, 1)}
	go func() { r.result <- c.Run(ctx) }()
	b.t.Cleanup(func() { _ = r.stop() })
	return r
}

// group makes a group's name unique on a broker that tests share.
func (b *bench) group(name string) string { return b.broker.Topics.Events + "." + name }

// record is the handler of most tests: one effect per message, in their order.
func record(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
	for _, m := range messages {
		if _, err := tx.Exec(ctx, "INSERT INTO effect (message_id) VALUES ($1)", m.ID); err != nil {
			return err
		}
	}
	return nil
}

// behind is how many records the group's offsets are away from the topic's end. A
// group that never committed anything is an error.
func (b *bench) behind(group string) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), signalWait)
	defer cancel()
	committed, err := b.admin.FetchOffsets(ctx, b.group(group))
	if err != nil {
		return 0, err
	}
	ends, err := b.admin.ListEndOffsets(ctx, b.broker.Topics.Events)
	if err != nil {
		return 0, err
	}
	var behind int64
	ends.Each(func(end kadm.ListedOffset) {
		at, _ := committed.Lookup(end.Topic, end.Partition)
		behind += end.Offset - max(at.At, 0)
	})
	return behind, nil
}

// awaitGroup returns once the group's offsets are at the topic's end: everything
// in it was handled, refused or passed over.
func (b *bench) awaitGroup(group string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		behind, err := b.behind(group)
		return err == nil && behind == 0
	}, signalWait, pollInterval)
}

// effects returns the ids of the effects, in the order in which they happened.
func (b *bench) effects() []string {
	b.t.Helper()
	rows, err := b.db.Owner.Query(b.t.Context(), "SELECT message_id::text FROM effect ORDER BY ordinal")
	require.NoError(b.t, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(b.t, err)
	return ids
}

// deadLetters returns what is in the dead-letter topic.
func (b *bench) deadLetters() []*kgo.Record {
	b.t.Helper()
	ends, err := b.admin.ListEndOffsets(b.t.Context(), b.broker.Topics.DeadLetters)
	require.NoError(b.t, err)
	var count int
	ends.Each(func(end kadm.ListedOffset) { count += int(end.Offset) })
	if count == 0 {
		return nil
	}
	reader := b.broker.Client(b.t, kgo.ConsumeTopics(b.broker.Topics.DeadLetters), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(b.t.Context(), signalWait)
	defer cancel()
	var letters []*kgo.Record
	for len(letters) < count {
		fetches := reader.PollFetches(ctx)
		require.NoError(b.t, fetches.Err())
		letters = append(letters, fetches.Records()...)
	}
	return letters
}

// ids are the event ids of records.
func ids(records ...*kgo.Record) []string {
	found := make([]string, 0, len(records))
	for _, r := range records {
		found = append(found, header(r, event.HeaderID))
	}
	return found
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

// await returns once the signal came.
func await[T any](t testing.TB, signal <-chan T) T {
	t.Helper()
	select {
	case v := <-signal:
		return v
	case <-time.After(signalWait):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// pollInterval is for what gives no signal.
const pollInterval = 10 * time.Millisecond

const timestampForm = time.RFC3339Nano

var testStart = time.Now()

// yesterday is a fixed time, in Kafka's milliseconds.
func yesterday() time.Time { return testStart.Add(-24 * time.Hour).UTC().Truncate(time.Millisecond) }
