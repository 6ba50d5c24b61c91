package billing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
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

	"github.com/payonce/payonce/examples/billing"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// signalWait bounds every wait for something that must happen.
const signalWait = 30 * time.Second

// brokers are what the most important tests run on.
var brokers = map[string]func(testing.TB) testkit.Broker{
	"kfake": testkit.NewFakeBroker, "Apache Kafka": testkit.RealBroker,
}

// bench is a broker with a topic of events and an empty database.
type bench struct {
	t      *testing.T
	broker testkit.Broker
	client *kgo.Client
	admin  *kadm.Client
	url    string
	pool   *pgxpool.Pool
}

func newBench(t *testing.T, broker testkit.Broker) *bench {
	t.Helper()
	client := broker.Client(t)
	url := testkit.NewEmptyDatabase(t).OwnerURL
	pool, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &bench{t: t, broker: broker, client: client, admin: kadm.NewClient(client), url: url, pool: pool}
}

// prefix is the topics' prefix.
func (b *bench) prefix() string { return strings.TrimSuffix(b.broker.Topics.Events, ".events") }

// start runs billing until the returned function is called or the test ends.
func (b *bench) start(group string) (stop func()) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() {
		result <- billing.Run(ctx, billing.Config{
			DatabaseURL: b.url, Brokers: b.broker.Addrs, TopicPrefix: b.prefix(), Group: group, Log: zaptest.NewLogger(b.t),
		})
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		require.NoError(b.t, <-result)
	})
	b.t.Cleanup(stop)
	return stop
}

// await returns once the group has everything in the topic behind it.
func (b *bench) await(group string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), signalWait)
		defer cancel()
		committed, err := b.admin.FetchOffsets(ctx, group)
		if err != nil {
			return false
		}
		ends, err := b.admin.ListEndOffsets(ctx, b.broker.Topics.Events)
		if err != nil {
			return false
		}
		done := true
		ends.Each(func(end kadm.ListedOffset) {
			at, _ := committed.Lookup(end.Topic, end.Partition)
			done = done && end.Offset == max(at.At, 0)
		})
		return done
	}, signalWait, 10*time.Millisecond)
}

// row is a row of billed.
type row struct {
	PaymentID   string
	InvoiceID   string
	MerchantID  string
	AmountMinor int64
	Currency    string
	CapturedAt  time.Time
	EventID     string
}

func (b *bench) billed() []row {
	b.t.Helper()
	rows, err := b.pool.Query(b.t.Context(), `SELECT payment_id::text, invoice_id, merchant_id::text, amount_minor, currency,
		captured_at AT TIME ZONE 'UTC', event_id::text FROM billed ORDER BY payment_id`)
	require.NoError(b.t, err)
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row])
	require.NoError(b.t, err)
	return all
}

func (b *bench) deadLetters() []*kgo.Record {
	b.t.Helper()
	ends, err := b.admin.ListEndOffsets(b.t.Context(), b.broker.Topics.DeadLetters)
	require.NoError(b.t, err)
	var count int
	ends.Each(func(end kadm.ListedOffset) { count += int(end.Offset) })
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

// newOutcome is the data of a captured payment.
func newOutcome() event.Outcome {
	return event.Outcome{
		PaymentID: uuid.New(), OperationID: uuid.New(), MerchantID: uuid.New(), State: payment.StateCaptured,
		InvoiceID: "INV-1", PaymentType: "card", Amount: "10.50", AmountMinor: "1050", Currency: "TRY",
		Provider: "card", OccurredAt: time.Now().UTC().Truncate(time.Microsecond),
	}
}

// newRecord is an event of the type, as the relay publishes it.
func (b *bench) newRecord(kind event.Type, key uuid.UUID, payload []byte) *kgo.Record {
	b.t.Helper()
	id, err := uuid.NewV7()
	require.NoError(b.t, err)
	e := event.Event{ID: id, Type: kind, Source: event.Source("main"), Key: key, Time: time.Now(), Payload: payload}
	r := &kgo.Record{Topic: b.broker.Topics.Events, Key: []byte(key.String()), Value: payload}
	for _, h := range e.Headers() {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
	}
	return r
}

func (b *bench) newCapture(data event.Outcome) *kgo.Record {
	b.t.Helper()
	payload, err := event.Encode(data)
	require.NoError(b.t, err)
	return b.newRecord(event.PaymentCaptured, data.PaymentID, payload)
}

// publish publishes copies, because the client writes into what it is given.
func (b *bench) publish(records ...*kgo.Record) {
	b.t.Helper()
	for _, r := range records {
		again := &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers}
		b.client.Produce(b.t.Context(), again, func(_ *kgo.Record, err error) {
			if err != nil {
				b.t.Error(err)
			}
		})
	}
	require.NoError(b.t, b.client.Flush(b.t.Context()))
}

func (b *bench) group() string { return b.prefix() + ".billing" }

func TestT7_AMessageDeliveredTenTimesIsBilledOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	data := newOutcome()
	capture := b.newCapture(data)
	for range 10 {
		b.publish(capture)
	}
	b.start("")
	b.await(b.group())
	require.Equal(t, []row{{
		PaymentID: data.PaymentID.String(), InvoiceID: "INV-1", MerchantID: data.MerchantID.String(),
		AmountMinor: 1050, Currency: "TRY", CapturedAt: data.OccurredAt, EventID: eventID(capture),
	}}, b.billed())
	require.Empty(t, b.deadLetters())
}

func TestE3_AReplayOfTheWholeTopicChangesNothingInBilling(t *testing.T) {
	t.Parallel()
	for name, newBroker := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newBroker(t))
			var records []*kgo.Record
			for range 700 {
				data := newOutcome()
				records = append(records, b.newRecord(event.PaymentPending, data.PaymentID, []byte(`{}`)), b.newCapture(data))
			}
			b.publish(records...)
			stop := b.start("")
			b.await(b.group())
			stop()
			before := b.billed()
			require.Len(t, before, 700)

			again := b.prefix() + ".again"
			stop = b.start(again)
			b.await(again)
			stop()
			// The same group, sent back to the start.
			starts, err := b.admin.ListStartOffsets(t.Context(), b.broker.Topics.Events)
			require.NoError(t, err)
			require.NoError(t, b.admin.CommitAllOffsets(t.Context(), b.group(), starts.Offsets()))
			b.start("")
			b.await(b.group())
			require.Equal(t, before, b.billed())
			require.Empty(t, b.deadLetters())
		})
	}
}

func TestE3_SeveralInstancesThatComeAndGoBillEachPaymentOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	var payments []string
	publish := func() {
		var records []*kgo.Record
		for range 300 {
			data := newOutcome()
			payments = append(payments, data.PaymentID.String())
			records = append(records, b.newCapture(data))
		}
		b.publish(records...)
	}
	publish()
	first, second := b.start(""), b.start("") // both find an empty database
	_, err := b.broker.Fake.WaitGroupStable(t.Context(), b.group(), 2)
	require.NoError(t, err)
	publish()
	first()
	b.start("")
	publish()
	second()
	b.await(b.group())
	var billed []string
	for _, r := range b.billed() {
		billed = append(billed, r.PaymentID)
	}
	require.ElementsMatch(t, payments, billed)
	require.Empty(t, b.deadLetters())
}

func TestW6_WhatBillingCannotBillGoesToTheDeadLetters(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	key := uuid.New() // one partition, so that a held one would be seen
	change := func(f func(*event.Outcome)) []byte {
		data := newOutcome()
		data.PaymentID = key
		f(&data)
		payload, err := event.Encode(data)
		require.NoError(t, err)
		return payload
	}
	bad := map[string][]byte{
		"no data":           nil,
		"no JSON":           []byte(`{"paymentId":`),
		"another payment":   change(func(d *event.Outcome) { d.PaymentID = uuid.New() }),
		"not captured":      change(func(d *event.Outcome) { d.State = payment.StatePending }),
		"no invoice":        change(func(d *event.Outcome) { d.InvoiceID = "" }),
		"no merchant":       change(func(d *event.Outcome) { d.MerchantID = uuid.Nil }),
		"no time":           change(func(d *event.Outcome) { d.OccurredAt = time.Time{} }),
		"no such currency":  change(func(d *event.Outcome) { d.Currency = "XX" }),
		"two amounts":       change(func(d *event.Outcome) { d.AmountMinor = "1051" }),
		"decimals missing":  change(func(d *event.Outcome) { d.Amount = "10.5" }),
		"an amount of zero": change(func(d *event.Outcome) { d.Amount, d.AmountMinor = "0.00", "0" }),
		"a negative amount": change(func(d *event.Outcome) { d.Amount, d.AmountMinor = "-1.00", "-100" }),
		"no number":         change(func(d *event.Outcome) { d.AmountMinor = "1e3" }),
		"beyond the range":  change(func(d *event.Outcome) { d.AmountMinor = "9223372036854775808" }),
		"a NUL character":   change(func(d *event.Outcome) { d.InvoiceID = "a\x00b" }),
	}
	before, after := newOutcome(), newOutcome()
	before.PaymentID, after.PaymentID = uuid.New(), key
	b.publish(b.newCapture(before))
	for _, payload := range bad {
		b.publish(b.newRecord(event.PaymentCaptured, key, payload))
	}
	b.publish(b.newRecord("payonce.PaymentCaptured.v2", key, nil), b.newRecord("acme.OrderShipped.v1", key, nil), b.newCapture(after))
	b.start("")
	b.await(b.group())
	require.Len(t, b.billed(), 2)

	letters := b.deadLetters()
	require.Len(t, letters, len(bad)+1)
	reasons := map[string]int{}
	for _, l := range letters {
		reasons[header(l, inbox.HeaderReason)]++
	}
	require.Equal(t, map[string]int{string(inbox.ReasonRejected): len(bad), string(inbox.ReasonUnknownVersion): 1}, reasons)
	for name, payload := range bad {
		found := false
		for _, l := range letters {
			found = found || bytes.Equal(l.Value, payload)
		}
		require.True(t, found, name)
	}
}

func TestASecondCaptureOfAPaymentIsShownAndNotBilled(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	data := newOutcome()
	first, second := b.newCapture(data), b.newCapture(data)
	b.publish(first, second)
	b.start("")
	b.await(b.group())
	require.Len(t, b.billed(), 1)
	require.Equal(t, eventID(first), b.billed()[0].EventID)
	letters := b.deadLetters()
	require.Len(t, letters, 1)
	require.Equal(t, eventID(second), eventID(letters[0]))
	require.Contains(t, header(letters[0], inbox.HeaderDetail), "billed already")
}

func TestABadURLIsAnErrorThatQuotesNothing(t *testing.T) {
	t.Parallel()
	err := billing.Run(t.Context(), billing.Config{DatabaseURL: "postgres://u:s3cret@host:port/x", Brokers: []string{"127.0.0.1:1"}})
	require.ErrorContains(t, err, "BILLING_DATABASE_URL")
	require.NotContains(t, err.Error(), "s3cret")
}

func TestTheEventsDataIsReadAsPayonceWritesIt(t *testing.T) {
	t.Parallel()
	// A member that is added later is no reason to refuse.
	b := newBench(t, testkit.NewFakeBroker(t))
	data := newOutcome()
	var members map[string]any
	payload, err := event.Encode(data)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(payload, &members))
	members["addedLater"] = map[string]any{"a": 1}
	payload, err = json.Marshal(members)
	require.NoError(t, err)
	b.publish(b.newRecord(event.PaymentCaptured, data.PaymentID, payload))
	b.start("")
	b.await(b.group())
	require.Len(t, b.billed(), 1)
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func eventID(r *kgo.Record) string { return header(r, event.HeaderID) }

func TestBillingIsReadyOnceItsTablesAreThere(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	c := billing.Config{DatabaseURL: b.url}
	require.ErrorContains(t, billing.Ready(t.Context(), c), "billed")
	b.start("")
	require.Eventually(t, func() bool { return billing.Ready(t.Context(), c) == nil }, signalWait, 20*time.Millisecond)
	c.DatabaseURL = "postgres://billing:s3cret@127.0.0.1:1/billing"
	err := billing.Ready(t.Context(), c)
	require.ErrorContains(t, err, "connecting to billing's database")
	require.NotContains(t, err.Error(), "s3cret")
}
