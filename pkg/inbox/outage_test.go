package inbox_test

import (
	"context"
	"crypto/rand"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// outage keeps everyone out of the database until the returned function is called.
func outage(t *testing.T, db *testkit.Database) (end func()) {
	t.Helper()
	elsewhere, err := pgx.Connect(t.Context(), testkit.NewEmptyDatabase(t).OwnerURL)
	require.NoError(t, err)
	name := db.Owner.Config().ConnConfig.Database
	allow := func(allowed string) {
		_, err := elsewhere.Exec(context.Background(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS "+allowed)
		require.NoError(t, err)
	}
	allow("false")
	_, err = elsewhere.Exec(t.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND usename = current_user", name)
	require.NoError(t, err)
	return func() {
		allow("true")
		require.NoError(t, elsewhere.Close(context.Background()))
		db.Owner.Reset()
	}
}

func TestE3_ADatabaseThatIsDownLosesNothingAndSendsNothingToTheDeadLetters(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(400)
	b.publish(records[:200]...)
	pool, attempts := watchedPool(t, b.db.OwnerURL)
	inside, down := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	// The database goes down under the first transaction, with its work half done.
	b.start("group", pool, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		if calls.Add(1) == 1 {
			if err := record(ctx, tx, messages[:1]); err != nil {
				return err
			}
			close(inside)
			<-down
		}
		return record(ctx, tx, messages)
	})
	await(t, inside)
	end := outage(t, b.db)
	drain(attempts)
	close(down)
	b.publish(records[200:]...)
	for range 4 { // it keeps trying
		await(t, attempts)
	}
	end()
	b.awaitGroup("group")
	require.ElementsMatch(t, ids(records...), b.effects())
	require.Empty(t, b.deadLetters())
}

// watchedPool reports attempts to connect.
func watchedPool(t *testing.T, url string) (*pgxpool.Pool, chan struct{}) {
	t.Helper()
	attempts := make(chan struct{}, 100)
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		select {
		case attempts <- struct{}{}:
		default:
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool, attempts
}

func drain(signals chan struct{}) {
	for len(signals) > 0 {
		<-signals
	}
}

func TestE3_ARejectionOnABrokenConnectionIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(1)
	b.publish(records...)
	var calls atomic.Int32
	b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		if calls.Add(1) == 1 {
			if _, err := b.db.App.Exec(ctx, "SELECT pg_terminate_backend($1)", tx.Conn().PgConn().PID()); err != nil {
				return err
			}
		}
		if err := record(ctx, tx, messages); err != nil {
			return inbox.Reject(err) // the handler's mistake
		}
		return nil
	})
	b.awaitGroup("group")
	require.Equal(t, ids(records...), b.effects())
	require.Empty(t, b.deadLetters())
	require.Equal(t, int32(2), calls.Load())
}

func TestW6_AMessageWaitsWhileItsDeadLetterCannotBePublished(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	key := uuid.New()
	first, poison, last := b.newRecord(key, event.PaymentCaptured), b.newRecord(key, event.PaymentCaptured), b.newRecord(key, event.PaymentCaptured)
	poison.Headers = nil
	b.publish(first, poison, last)
	fault := b.broker.Fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: b.broker.Topics.DeadLetters, Err: kerr.TopicAuthorizationFailed, Count: -1,
	})
	b.start("group", b.db.App, record)
	require.NoError(t, fault.Wait(t.Context(), 3))
	require.Eventually(t, func() bool { // offsets follow in the background
		behind, err := b.behind("group")
		return err == nil && behind == 2
	}, signalWait, pollInterval, "the poison and what is behind it")
	fault.Remove()
	b.awaitGroup("group")
	require.Equal(t, ids(first, last), b.effects())
	require.Len(t, b.deadLetters(), 1)
}

func TestW6_AMessageOfTheLargestSizeFitsIntoADeadLetter(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.RealBroker(t))
	poison := &kgo.Record{Topic: b.broker.Topics.Events, Key: []byte("k"), Value: make([]byte, 1_040_000)}
	_, _ = rand.Read(poison.Value) // nothing that compresses
	b.publish(poison)
	b.start("group", b.db.App, record)
	b.awaitGroup("group")
	letters := b.deadLetters()
	require.Len(t, letters, 1)
	requireWhole(t, poison, letters[0])
}

func TestE3_OffsetsThatCouldNotBeCommittedOnlyMakeRepeats(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(50)
	b.publish(records...)
	fault := b.broker.Fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.OffsetCommit}, Group: b.group("group"), Err: kerr.GroupAuthorizationFailed, Count: -1,
	})
	first := b.start("group", b.db.App, record)
	require.Eventually(t, func() bool { return len(b.effects()) == 50 }, signalWait, pollInterval)
	require.NoError(t, fault.Wait(t.Context(), 1))
	require.NoError(t, first.stop())
	fault.Remove()
	behind, err := b.behind("group")
	require.NoError(t, err)
	require.Equal(t, int64(50), behind)

	b.start("group", b.db.App, func(context.Context, pgx.Tx, []inbox.Received) error { panic("nothing is fresh") })
	b.awaitGroup("group")
	require.ElementsMatch(t, ids(records...), b.effects())
}

func TestW8_RecordsThatAreGoneBeforeTheGroupReadThemStopTheConsumer(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *bench, *kgo.Record){
		"deleted below its offset": func(t *testing.T, b *bench, r *kgo.Record) {
			b.publish(r, r)
			at := b.broker.Fake.PartitionInfo(r.Topic, r.Partition)
			require.NoError(t, b.broker.Fake.DeleteRecords(r.Topic, r.Partition, at.HighWatermark))
			b.publish(r)
		},
		"a log that is shorter than what was read": func(t *testing.T, b *bench, r *kgo.Record) {
			require.NoError(t, b.admin.CommitAllOffsets(t.Context(), b.group("group"), kadm.OffsetsFromRecords(kgo.Record{
				Topic: r.Topic, Partition: r.Partition, Offset: r.Offset + 1000, LeaderEpoch: -1,
			})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, testkit.NewFakeBroker(t))
			r := b.newRecord(uuid.New(), event.PaymentCaptured)
			require.NoError(t, b.producer.ProduceSync(t.Context(), r).FirstErr())
			first := b.start("group", b.db.App, record)
			b.awaitGroup("group")
			require.NoError(t, first.stop())

			lose(t, b, r)
			err := b.start("group", b.db.App, record).wait()
			require.ErrorIs(t, err, kerr.OffsetOutOfRange)
			require.ErrorContains(t, err, "reset the group's offsets")
		})
	}
}

func TestW8_OnlyCommittedRecordsAreHandled(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func(testing.TB) testkit.Broker{
		"kfake": testkit.NewFakeBroker, "Apache Kafka": testkit.RealBroker,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newBroker(t))
			key := uuid.New()
			aborted, committed := b.newRecord(key, event.PaymentCaptured), b.newRecord(key, event.PaymentCaptured)
			producer := b.broker.Client(t, kgo.TransactionalID(b.group("transactions")))
			for _, tx := range []struct {
				record *kgo.Record
				end    kgo.TransactionEndTry
			}{{aborted, kgo.TryAbort}, {committed, kgo.TryCommit}} {
				require.NoError(t, producer.BeginTransaction())
				require.NoError(t, producer.ProduceSync(t.Context(), tx.record).FirstErr())
				require.NoError(t, producer.EndTransaction(t.Context(), tx.end))
			}
			handled := make(chan uuid.UUID, 2)
			b.start("group", b.db.App, func(_ context.Context, _ pgx.Tx, messages []inbox.Received) error {
				for _, m := range messages {
					handled <- m.ID
				}
				return nil
			})
			require.Equal(t, ids(committed)[0], await(t, handled).String())
		})
	}
}
