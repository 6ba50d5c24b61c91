package kafkadoor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/kafkadoor"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// patience only matters when a test fails.
const patience = 3 * time.Minute

// hall is a database and a broker, with a merchant whose topics are there.
type hall struct {
	*testkit.Database
	broker testkit.Broker
	prefix string
	admin  *kadm.Client
	rules  accept.Rules
	shop   *sender
}

func newHall(t *testing.T, broker testkit.Broker) *hall {
	t.Helper()
	h := &hall{Database: testkit.NewDatabase(t), broker: broker, admin: kadm.NewClient(broker.Client(t))}
	h.prefix = broker.Topics.Requests[:len(broker.Topics.Requests)-len(".requests")]
	h.rules = accept.Rules{Topic: broker.Topics.Requests, Source: event.Source("test")}
	h.shop = h.open(t)
	return h
}

// open makes a merchant and its topics.
func (h *hall) open(t *testing.T) *sender {
	t.Helper()
	id := fixture.Merchant(t, h.App)
	h.create(t, event.DoorTopicsOf(h.prefix, id).All()...)
	return h.sender(t, id)
}

func (h *hall) create(t *testing.T, topics ...string) {
	t.Helper()
	created, err := h.admin.CreateTopics(t.Context(), 2, 1, map[string]*string{"message.timestamp.type": new("LogAppendTime")}, topics...)
	require.NoError(t, err)
	require.NoError(t, created.Error())
	t.Cleanup(func() { _, _ = h.admin.DeleteTopics(context.WithoutCancel(t.Context()), topics...) })
}

// door is a process that runs until the test ends or stop is called.
type door struct {
	logs *observer.ObservedLogs
	stop func()
}

func (h *hall) start(t *testing.T) door { return h.startOn(t, h.App) }

// startOn leads the door to its database through a pool.
func (h *hall) startOn(t *testing.T, pool *pgxpool.Pool) door {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	committer := accept.NewCommitter(pool, h.rules)
	d := kafkadoor.New(kafkadoor.Config{
		Brokers: h.broker.Addrs, TopicPrefix: h.prefix, Source: event.Source("test"), Log: zap.New(core),
	}, pool, committer, kgo.MetadataMinAge(50*time.Millisecond))
	committing, endCommitting := context.WithCancel(context.Background())
	serving, endServing := context.WithCancel(context.Background())
	committed, served := make(chan struct{}), make(chan error, 1)
	go func() {
		defer close(committed)
		committer.Run(committing)
	}()
	go func() {
		served <- d.Run(serving)
		close(served)
	}()
	stop := func() {
		endServing()
		if err := <-served; err != nil {
			t.Error(err)
		}
		endCommitting()
		<-committed
	}
	t.Cleanup(stop)
	return door{logs: logs, stop: stop}
}

// sender is a merchant's service in another language.
type sender struct {
	id      uuid.UUID
	topics  event.DoorTopics
	client  *kgo.Client
	answers *kgo.Client
}

func (h *hall) sender(t *testing.T, id uuid.UUID) *sender {
	t.Helper()
	topics := event.DoorTopicsOf(h.prefix, id)
	return &sender{
		// A busy broker hears late of a topic that was just made.
		id: id, topics: topics, client: h.broker.Client(t, kgo.ProducerLinger(0), kgo.UnknownTopicRetries(-1)),
		answers: h.broker.Client(t, kgo.ConsumeTopics(topics.Replies), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
			kgo.MetadataMinAge(50*time.Millisecond)),
	}
}

func body(invoice, amount string) string {
	return fmt.Sprintf(`{"invoiceId":%q,"paymentType":"order","amount":%q,"currency":"TRY","paymentMethod":"tok_visa"}`, invoice, amount)
}

// command is a record as docs/KAFKA-DOOR.md shows it.
func (s *sender) command(key, value string, changes ...func(map[string]string)) *kgo.Record {
	headers := map[string]string{
		"ce_specversion": "1.0", "ce_id": key, "ce_type": string(event.SubmitPayment), "ce_source": "/shop/checkout",
		"content-type": "application/json",
	}
	for _, change := range changes {
		change(headers)
	}
	r := &kgo.Record{Topic: s.topics.Commands, Key: []byte("order 7"), Value: []byte(value)}
	for name, value := range headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	return r
}

func with(name, value string) func(map[string]string) {
	return func(headers map[string]string) {
		if headers[name] = value; value == "" {
			delete(headers, name)
		}
	}
}

func (s *sender) send(t *testing.T, records ...*kgo.Record) {
	t.Helper()
	require.NoError(t, s.client.ProduceSync(t.Context(), records...).FirstErr())
}

// answer is a record on the topic for replies.
type answer struct {
	*kgo.Record
	headers map[string]string
}

func read(r *kgo.Record) answer {
	a := answer{Record: r, headers: map[string]string{}}
	for _, h := range r.Headers {
		a.headers[h.Key] = string(h.Value)
	}
	return a
}

// hear returns the next answers, in their order.
func (s *sender) hear(t *testing.T, count int) []answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var answers []answer
	for len(answers) < count {
		fetches := s.answers.PollRecords(ctx, count-len(answers))
		require.NoError(t, ctx.Err(), "%d of %d answers", len(answers), count)
		fetches.EachRecord(func(r *kgo.Record) { answers = append(answers, read(r)) })
	}
	return answers
}

// ask sends one command and returns its answer.
func (s *sender) ask(t *testing.T, r *kgo.Record) answer {
	t.Helper()
	s.send(t, r)
	return s.hear(t, 1)[0]
}

func (a answer) accepted(t *testing.T) (payment.View, bool) {
	t.Helper()
	require.Equal(t, string(event.PaymentAccepted), a.headers["ce_type"], "%s", a.Value)
	var data event.Accepted
	require.NoError(t, json.Unmarshal(a.Value, &data))
	var view payment.View
	require.NoError(t, json.Unmarshal(data.Payment, &view))
	return view, data.Replayed
}

func (a answer) rejected(t *testing.T) problem.Document {
	t.Helper()
	require.Equal(t, string(event.PaymentRejected), a.headers["ce_type"], "%s", a.Value)
	var document problem.Document
	require.NoError(t, json.Unmarshal(a.Value, &document))
	return document
}

func (h *hall) payments(t *testing.T) int {
	t.Helper()
	var n int
	require.NoError(t, h.App.QueryRow(t.Context(), "SELECT count(*) FROM payment").Scan(&n))
	return n
}

// letters returns the next dead letters.
func (h *hall) letters(t *testing.T, count int) []answer {
	t.Helper()
	consumer := h.broker.Client(t, kgo.ConsumeTopics(h.broker.Topics.DeadLetters), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	s := sender{answers: consumer}
	return s.hear(t, count)
}
