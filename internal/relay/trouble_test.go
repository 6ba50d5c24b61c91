package relay_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/payonce/payonce/internal/relay"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

// soon bounds what is awaited; it is far more than anything takes.
const soon = time.Minute

// openTransactions is how many transactions relays hold open, be they at work or
// idle.
const openTransactions = `pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'relay%' AND xact_start IS NOT NULL`

// lockedLanes tries all lanes and returns how many somebody holds.
func (b *bundle) lockedLanes() int {
	b.t.Helper()
	return 64 - b.count("(SELECT lane FROM outbox_lane FOR UPDATE SKIP LOCKED) free")
}

// nothingIsHeld asserts that relays hold neither lanes nor transactions, looked
// at again and again: a look of theirs for waiting lanes is over in no time.
func (b *bundle) nothingIsHeld() {
	b.t.Helper()
	held := 0
	for range 200 {
		require.Zero(b.t, b.lockedLanes())
		if b.count(openTransactions) > 0 {
			held++
		}
	}
	require.Less(b.t, held, 100, "a transaction is open all the time")
}

func (b *bundle) drained() bool { return b.count("outbox") == 0 }

// fault makes the broker answer produce requests with an error until the
// returned handle is removed.
func (b *bundle) fault(err *kerr.Error, topic string) *kfake.FaultHandle {
	return b.broker.Fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: topic, Err: err, Count: -1})
}

// spread appends rows of as many payments, in all lanes, and returns their payloads.
func (b *bundle) spread(rows int) []string {
	var payloads []string
	var events []event.Event
	for n := range rows {
		e := b.captured(newID(b.t), n)
		events, payloads = append(events, e), append(payloads, string(e.Payload))
	}
	b.commit(events...)
	return payloads
}

// A broker that answers and does not write: too few replicas are in sync.
func TestR1_WhileTheBrokerTakesNoEventsRowsStayAndNothingIsHeld(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	outage := b.fault(kerr.NotEnoughReplicas, "")
	r := b.newRelay()
	b.start(r)
	want := b.spread(500)
	// The first steps find out; what they hold, they hold for AckWaitMax.
	require.Eventually(t, func() bool { return b.lockedLanes() > 0 }, soon, time.Millisecond)
	require.Eventually(t, func() bool { return b.lockedLanes() == 0 }, soon, 10*time.Millisecond)
	b.nothingIsHeld()
	want = append(want, b.spread(500)...)
	b.nothingIsHeld()
	require.Equal(t, 1000, b.count("outbox"), "no row is removed without its acknowledgement")
	require.Zero(t, b.count("outbox_parked"))
	require.LessOrEqual(t, r.Flying(), int64(500), "R1: no more than the first steps held is in memory")

	outage.Remove()
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	require.Subset(t, values(b.consume(b.broker.Topics.Events).all()), want)
}

func TestR1_ABrokerThatIsGoneIsAwaited(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.broker.Fake.Close()
	// The broker comes back at another port, because others may have taken the one that
	// it had: wherever the relay wants to go, it is led to where the broker is.
	var at atomic.Pointer[string]
	r := b.newRelay(kgo.Dialer(func(ctx context.Context, network, _ string) (net.Conn, error) {
		addr := at.Load()
		if addr == nil {
			return nil, syscall.ECONNREFUSED
		}
		var dialer net.Dialer
		return dialer.DialContext(ctx, network, *addr)
	}))
	stop := b.start(r)
	want := b.spread(300)
	b.nothingIsHeld()
	require.Equal(t, 300, b.count("outbox"))

	b.broker = testkit.NewFakeBroker(t)
	at.Store(&b.broker.Addrs[0])
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	stop()
	require.ElementsMatch(t, want, values(b.consume(b.broker.Topics.Events).all()), "each exactly once: nothing was sent before")
}

func TestR6_ARelayThatIsToldToStopHandsOverWithinFiveSecondsWhileTheBrokerIsDown(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	outage := b.fault(kerr.NotEnoughReplicas, "")
	stop := b.start(b.newRelay())
	want := b.spread(300)
	require.Eventually(t, func() bool { return b.lockedLanes() > 0 }, soon, time.Millisecond)
	told := time.Now()
	stop()
	require.Less(t, time.Since(told), relay.AckWaitMax+2*time.Second)
	// A look that was cut short ends at the server a moment later.
	require.Eventually(t, func() bool { return b.lockedLanes() == 0 }, soon, time.Millisecond)
	require.Equal(t, 300, b.count("outbox"))
	outage.Remove()
	b.start(b.newRelay())
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	require.Subset(t, values(b.consume(b.broker.Topics.Events).all()), want)
}

func TestR6_APlainStopPublishesNothingTwice(t *testing.T) {
	t.Parallel()
	b := &bundle{t: t, database: testkit.NewDatabase(t), broker: testkit.RealBroker(t)}
	var want []string
	for range 10 {
		stop := b.start(b.newRelay())
		for range 5 {
			want = append(want, b.spread(200)...)
		}
		stop() // in the middle of it
	}
	b.start(b.newRelay())
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	require.ElementsMatch(t, want, values(b.consume(b.broker.Topics.Events).all()))
}

// small makes a topic that refuses records of more than about 2,000 bytes, and
// batches too.
func (b *bundle) small() string {
	b.t.Helper()
	require.NoError(b.t, b.broker.Fake.CreateTopic("payonce.intake-replies.m1", 16, map[string]string{"max.message.bytes": "2000"}))
	return "payonce.intake-replies.m1"
}

// parked returns the payloads and reasons of what is parked.
func (b *bundle) parked() (payloads, reasons []string) {
	b.t.Helper()
	rows, err := b.database.App.Query(b.t.Context(), "SELECT convert_from(payload, 'UTF8'), reason FROM outbox_parked ORDER BY seq")
	require.NoError(b.t, err)
	defer rows.Close()
	for rows.Next() {
		var payload, reason string
		require.NoError(b.t, rows.Scan(&payload, &reason))
		payloads, reasons = append(payloads, payload), append(reasons, reason)
	}
	require.NoError(b.t, rows.Err())
	return payloads, reasons
}

// incompressible is text that the client cannot make smaller.
func incompressible(bytes int) []byte {
	var text []byte
	for len(text) < bytes {
		text = append(text, rand.Text()...)
	}
	return text[:bytes]
}

// All in one lane, so in one partition and often in one batch.
func TestR2_APoisonRowParksItselfAndLaterRowsOfItsPaymentOnly(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	topic := b.small()
	poisoned := inLane(t, 5)
	var events []event.Event
	var healthy []string
	add := func(payment uuid.UUID, n int) *event.Event {
		events = append(events, b.captured(payment, n))
		events[len(events)-1].Topic = topic
		return &events[len(events)-1]
	}
	for n := range 30 {
		healthy = append(healthy, string(add(inLane(t, 5), n).Payload))
	}
	poison := add(poisoned, 100)
	poison.Payload = incompressible(4000)
	large := string(poison.Payload)
	add(poisoned, 101)
	for n := 30; n < 60; n++ {
		healthy = append(healthy, string(add(inLane(t, 5), n).Payload))
	}
	outcome := b.captured(poisoned, 102) // to another topic, where it would be taken
	events = append(events, outcome)
	b.commit(events...)
	b.start(b.newRelay())
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)

	payloads, reasons := b.parked()
	require.Equal(t, []string{large, `{"n":101}`, `{"n":102}`}, payloads)
	require.Contains(t, reasons[0], "MESSAGE_TOO_LARGE")
	require.Contains(t, reasons[1], "an earlier event of this payment is parked")
	require.ElementsMatch(t, healthy, values(b.consume(topic).all()), "each once")
	require.Zero(t, b.consume(b.broker.Topics.Events).end())

	b.commit(b.captured(poisoned, 103), b.captured(inLane(t, 5), 104))
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	payloads, _ = b.parked()
	require.Equal(t, []string{large, `{"n":101}`, `{"n":102}`, `{"n":103}`}, payloads)
	require.Equal(t, []string{`{"n":104}`}, values(b.consume(b.broker.Topics.Events).all()))
}

func TestR2_ARowForATopicThatDoesNotExistIsParkedAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	lost := inLane(t, 5)
	nowhere := b.captured(lost, 1)
	nowhere.Topic = "payonce.intake-replies.nobody"
	b.commit(nowhere, b.captured(lost, 2))
	b.start(b.newRelay())
	c := b.consume(b.broker.Topics.Events)
	for n := range 10 { // of the same lane, long before the row is parked
		b.commit(b.captured(inLane(t, 5), 100+n))
		require.Equal(t, []string{fmt.Sprintf(`{"n":%d}`, 100+n)}, values(c.next(1)))
	}
	require.Zero(t, b.count("outbox_parked"), "the topic may just have been created")
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	payloads, reasons := b.parked()
	require.Equal(t, []string{`{"n":1}`, `{"n":2}`}, payloads)
	require.Equal(t, "topic payonce.intake-replies.nobody does not exist", reasons[0])
}

func TestATopicThatIsCreatedInTimeIsUsed(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	early := b.captured(newID(t), 1)
	early.Topic = "payonce.intake-replies.m2"
	b.commit(early)
	r := b.newRelay()
	gone, err := r.RunOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, gone)
	require.NoError(t, b.broker.Fake.CreateTopic(early.Topic, 16, nil))
	b.start(r)
	require.Equal(t, []string{`{"n":1}`}, values(b.consume(early.Topic).next(1)))
}

func TestWhileASharedTopicIsMissingNothingIsPublishedOrParked(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.broker.Fake.DeleteTopic(b.broker.Topics.Events))
	r := b.newRelay()
	b.commit(b.captured(newID(t), 1))
	_, err := r.RunOnce(t.Context())
	require.ErrorContains(t, err, "topics are missing; run `payctl topics create`: payonce.events")
	b.nothingIsHeld()
	require.Equal(t, 1, b.count("outbox"))
	require.NoError(t, b.broker.Fake.CreateTopic(b.broker.Topics.Events, 16, nil))
	b.start(r)
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	require.Equal(t, []string{`{"n":1}`}, values(b.consume(b.broker.Topics.Events).all()))
}

// Refusals that pass: rows stay, and what comes behind them does not overtake
// them.
func TestR2_RefusalsOfTheBrokerNeitherLoseNorReorder(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	const payments, each = 20, 30
	var want []uuid.UUID
	for n := range payments * each {
		if n < payments {
			want = append(want, newID(t))
		}
		b.commit(b.captured(want[n%payments], n/payments))
	}
	for i, refusal := range []*kerr.Error{
		kerr.TopicAuthorizationFailed, kerr.NotLeaderForPartition, kerr.RequestTimedOut, kerr.PolicyViolation, kerr.OutOfOrderSequenceNumber,
	} {
		calls := 0
		b.broker.Fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Produce}, Err: refusal, Count: 20,
			When: func(kmsg.Request) bool { calls++; return calls%5 == i },
		})
	}
	b.start(b.newRelay())
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	require.Zero(t, b.count("outbox_parked"))
	sightings := newSightings(b.consume(b.broker.Topics.Events).all())
	require.Empty(t, sightings.disorder())
	require.Len(t, sightings.ids, payments*each)
}
