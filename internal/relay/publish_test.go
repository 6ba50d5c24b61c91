package relay_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/pkg/event"
)

// end is the number of records that the topic holds.
func (c *consumer) end() int {
	c.t.Helper()
	topics := c.client.GetConsumeTopics()
	offsets, err := kadm.NewClient(c.client).ListEndOffsets(c.t.Context(), topics...)
	require.NoError(c.t, err)
	total := 0
	offsets.Each(func(o kadm.ListedOffset) { total += int(o.Offset) })
	return total
}

func TestR8_ARecordIsTheEventThatWasWritten(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	sent := b.captured(newID(t), 1)
	b.commit(sent)
	gone, err := b.newRelay().RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Zero(t, b.count("outbox"))

	got := b.consume(b.broker.Topics.Events).next(1)[0]
	require.Equal(t, sent.Key.String(), string(got.Key))
	require.Equal(t, sent.Payload, got.Value)
	require.EqualValues(t, outbox.Lane(sent.Key)%16, got.Partition)
	var headers []event.Header
	for _, h := range got.Headers {
		headers = append(headers, event.Header{Name: h.Key, Value: string(h.Value)})
	}
	require.Equal(t, sent.Headers(), headers)
}

func TestP5_ARolledBackTransactionPublishesNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	tx, err := b.database.App.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, outbox.Append(t.Context(), tx, []event.Event{b.captured(newID(t), 1)}))
	r := b.newRelay()
	for range 3 {
		gone, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Zero(t, gone, "not committed yet")
	}
	require.NoError(t, tx.Rollback(t.Context()))
	b.commit(b.captured(newID(t), 2))
	gone, err := r.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, gone)
	require.Equal(t, []string{`{"n":2}`}, values(b.consume(b.broker.Topics.Events).all()))
}

func TestR2_EventsOfAPaymentKeepTheirOrderWithinAStep(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	payment := newID(t)
	var want []string
	for n := range 50 {
		e := b.captured(payment, n)
		want = append(want, string(e.Payload))
		b.commit(e)
	}
	gone, err := b.newRelay().RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 50, gone)
	require.Equal(t, want, values(b.consume(b.broker.Topics.Events).all()))
}

// An accept is held open, its lane is drained past it; the accept commits, and
// its cancel follows.
func TestR4_ALateCommitIsPublishedBeforeWhatFollowsIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	r := b.newRelay()
	payment := inLane(t, 7)
	accept, err := b.database.App.Begin(t.Context())
	require.NoError(t, err)
	require.NoError(t, outbox.Append(t.Context(), accept, []event.Event{b.captured(payment, 1000)}))
	for n := range 10 {
		b.commit(b.captured(inLane(t, 7), n))
		gone, err := r.RunOnce(t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, gone)
	}
	require.NoError(t, accept.Commit(t.Context()))
	b.commit(b.captured(payment, 1001))
	gone, err := r.RunOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, gone)
	published := values(b.consume(b.broker.Topics.Events).all())
	require.Equal(t, []string{`{"n":1000}`, `{"n":1001}`}, published[10:])
}
