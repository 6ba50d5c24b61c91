package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

func TestT7_AMessageDeliveredTenTimesHasOneEffect(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(3)
	for range 10 {
		b.publish(records...)
	}
	b.start("group", b.db.App, record)
	b.awaitGroup("group")
	require.ElementsMatch(t, ids(records...), b.effects())
	require.Empty(t, b.deadLetters())
}

func TestE3_AReplayOfTheWholeTopicHasNoEffect(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func(testing.TB) testkit.Broker{
		"kfake": testkit.NewFakeBroker, "Apache Kafka": testkit.RealBroker,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newBroker(t))
			records := b.newRecords(1200) // more than one group
			b.publish(records...)
			first := b.start("first", b.db.App, record)
			b.awaitGroup("first")
			require.ElementsMatch(t, ids(records...), b.effects())
			require.NoError(t, first.stop())

			b.start("second", b.db.App, func(context.Context, pgx.Tx, []inbox.Received) error {
				return errors.New("nothing is fresh in a replay")
			})
			b.awaitGroup("second")
			require.Len(t, b.effects(), len(records))
			require.Empty(t, b.deadLetters())
		})
	}
}

func TestE3_AHandlersErrorIsRetriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	key := uuid.New()
	var records []*kgo.Record
	for range 20 {
		records = append(records, b.newRecord(key, event.PaymentCaptured))
	}
	b.publish(records...)
	var failures atomic.Int32
	stubborn := ids(records[7])[0]
	b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		if err := record(ctx, tx, messages); err != nil {
			return err
		}
		for _, m := range messages {
			if m.ID.String() == stubborn && failures.Add(1) <= 4 {
				return errors.New("not yet")
			}
		}
		return nil
	})
	b.awaitGroup("group")
	require.Equal(t, ids(records...), b.effects(), "each once, in the partition's order")
	require.Greater(t, failures.Load(), int32(4))
	require.Empty(t, b.deadLetters())
}

func TestE3_AMessageThatFailsHoldsNoOtherPartition(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	stuck := b.newRecord(uuid.New(), event.PaymentCaptured)
	others := b.newRecords(64)
	b.publish(append(others, stuck)...)
	free := make(chan struct{})
	b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		for _, m := range messages {
			select {
			case <-free:
			default:
				if m.ID.String() == ids(stuck)[0] {
					return errors.New("stuck")
				}
			}
		}
		return record(ctx, tx, messages)
	})
	// The stuck message's own partition waits behind it; 64 keys are in all 16.
	require.Eventually(t, func() bool { return len(b.effects()) > 48 }, signalWait, pollInterval)
	require.NotContains(t, b.effects(), ids(stuck)[0])
	close(free)
	b.awaitGroup("group")
	require.ElementsMatch(t, ids(append(others, stuck)...), b.effects())
}

func TestW6_WhatCannotBeHandledGoesToTheDeadLettersWholeAndHoldsNothing(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func(testing.TB) testkit.Broker{
		"kfake": testkit.NewFakeBroker, "Apache Kafka": testkit.RealBroker,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newBroker(t))
			key := uuid.New()
			good := func() *kgo.Record { return b.newRecord(key, event.PaymentCaptured) }
			malformed, nameless, newer, foreign, hated := good(), good(), b.newRecord(key, "payonce.PaymentCaptured.v2"),
				b.newRecord(key, "acme.OrderShipped.v1"), good()
			malformed.Headers = []kgo.RecordHeader{{Key: "x", Value: []byte{0, 0xff}}}
			malformed.Value = []byte("\x00\xff not JSON")
			nameless.Headers[2].Value = nil
			goods := []*kgo.Record{good(), good(), good(), good(), good()}
			b.publish(goods[0], malformed, goods[1], nameless, newer, goods[2], foreign, hated, goods[3], goods[4])

			b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
				for _, m := range messages {
					if m.ID.String() == ids(hated)[0] {
						return inbox.Reject(fmt.Errorf("I hate %s", m.ID))
					}
				}
				return record(ctx, tx, messages)
			})
			b.awaitGroup("group")
			require.Equal(t, ids(goods...), b.effects())

			letters := b.deadLetters()
			require.Len(t, letters, 4)
			for i, want := range []struct {
				original *kgo.Record
				reason   inbox.Reason
				offset   string
				detail   string
			}{
				{malformed, inbox.ReasonMalformed, "1", "ce_specversion"},
				{nameless, inbox.ReasonMalformed, "3", "ce_type"},
				{newer, inbox.ReasonUnknownVersion, "4", "payonce.PaymentCaptured.v2"},
				{hated, inbox.ReasonRejected, "7", "I hate " + ids(hated)[0]},
			} {
				requireWhole(t, want.original, letters[i])
				require.Equal(t, string(want.reason), header(letters[i], inbox.HeaderReason))
				require.Contains(t, header(letters[i], inbox.HeaderDetail), want.detail)
				require.Equal(t, consumer, header(letters[i], inbox.HeaderConsumer))
				require.Equal(t, b.broker.Topics.Events, header(letters[i], inbox.HeaderTopic))
				require.Equal(t, want.offset, header(letters[i], inbox.HeaderOffset))
			}
		})
	}
}

// requireWhole holds that a dead letter begins with all that the record had.
func requireWhole(t *testing.T, original, letter *kgo.Record) {
	t.Helper()
	require.Equal(t, original.Key, letter.Key)
	require.Equal(t, original.Value, letter.Value)
	require.Greater(t, len(letter.Headers), len(original.Headers))
	for i, h := range original.Headers {
		require.Equal(t, h.Key, letter.Headers[i].Key)
		require.Equal(t, string(h.Value), string(letter.Headers[i].Value))
	}
}

func TestE3_AMessageBelowTheFloorGoesToTheDeadLetters(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	key := uuid.New()
	old, young := b.newRecord(key, event.PaymentCaptured), b.newRecord(key, event.PaymentCaptured)
	old.Timestamp = yesterday()
	setFloor(t, b.db, consumer, yesterday().Add(time.Millisecond))
	b.publish(old, young)
	b.start("group", b.db.App, record)
	b.awaitGroup("group")
	require.Equal(t, ids(young), b.effects())
	letters := b.deadLetters()
	require.Len(t, letters, 1)
	requireWhole(t, old, letters[0])
	require.Equal(t, string(inbox.ReasonBelowFloor), header(letters[0], inbox.HeaderReason))
	require.Equal(t, yesterday().Format(timestampForm), header(letters[0], inbox.HeaderTimestamp))
}

func TestW6_ALetterThatIsRefusedAgainDoesNotGrow(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	poison := b.newRecord(uuid.New(), event.PaymentCaptured)
	b.publish(poison)
	// The second time it fails for a longer reason than the bound.
	var handled atomic.Int32
	b.start("group", b.db.App, func(context.Context, pgx.Tx, []inbox.Received) error {
		if handled.Add(1) == 1 {
			return inbox.Reject(errors.New("first"))
		}
		return inbox.Reject(errors.New(strings.Repeat("é", inbox.DetailBytesMax)))
	})
	b.awaitGroup("group")
	redriven := b.deadLetters()[0]
	b.publish(&kgo.Record{Topic: b.broker.Topics.Events, Key: redriven.Key, Value: redriven.Value, Headers: redriven.Headers})
	b.awaitGroup("group")
	letters := b.deadLetters()
	require.Len(t, letters, 2)
	require.Len(t, letters[1].Headers, len(letters[0].Headers))
	requireWhole(t, poison, letters[1])
	require.Equal(t, "1", header(letters[1], inbox.HeaderOffset))
	require.Equal(t, strings.Repeat("é", inbox.DetailBytesMax/2), header(letters[1], inbox.HeaderDetail))
}

func TestE3_CommittedIsCalledOncePerCommitWithWhatWasFresh(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(100)
	b.publish(append(records, records[:50]...)...)
	var failed atomic.Bool
	var committed []string // written by the consumer's one loop
	b.committed = func(ctx context.Context, messages []inbox.Received) {
		for _, m := range messages {
			var there bool
			err := b.db.Owner.QueryRow(ctx, "SELECT EXISTS (SELECT FROM effect WHERE message_id = $1)", m.ID).Scan(&there)
			assert.True(t, err == nil && there, "called before the commit: %v", err)
			committed = append(committed, m.ID.String())
		}
	}
	r := b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		if err := record(ctx, tx, messages); err != nil {
			return err
		}
		if failed.CompareAndSwap(false, true) {
			return errors.New("rolled back")
		}
		return nil
	})
	b.awaitGroup("group")
	require.NoError(t, r.stop())
	require.ElementsMatch(t, ids(records...), committed)
}

func TestAConsumerNeedsItsNames(t *testing.T) {
	t.Parallel()
	_, err := inbox.NewConsumer(inbox.Config{Name: consumer, Group: "g", Brokers: []string{"localhost:1"}, Topic: "t"}, nil, record)
	require.ErrorContains(t, err, "DeadLetters is missing")
}
