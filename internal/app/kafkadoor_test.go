package app_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestT1_I1_OneKeyAtBothDoorsIsOnePayment(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.environ = append(b.environ, "PAYONCE_KAFKA_DOOR=true")
	intake := start(t, b, app.Intake)
	shop := newClient(t, b, intake)
	topics := b.doorOf(t)

	status, first := shop.pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusAccepted, status)
	answer := b.command(t, topics, "key-invoice-1", "invoice-1")
	require.True(t, answer.Replayed)
	var view payment.View
	require.NoError(t, json.Unmarshal(answer.Payment, &view))
	require.Equal(t, first.ID, view.ID)

	second := b.command(t, topics, "key-invoice-2", "invoice-2")
	require.False(t, second.Replayed)
	require.NoError(t, json.Unmarshal(second.Payment, &view))
	status, repeat := shop.pay(t, "invoice-2", "10.00")
	require.Equal(t, http.StatusAccepted, status)
	require.Equal(t, view.ID, repeat.ID)
}

func TestO5_IntakeWithADoorIsReadyWithoutABroker(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := start(t, b, app.Intake, "PAYONCE_KAFKA_DOOR=true", "PAYONCE_KAFKA_BROKERS=127.0.0.1:1")
	status, _ := newClient(t, b, intake).pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusAccepted, status)
	intake.becomes(t, http.StatusOK, "")
}

// doorOf makes the topics of the only merchant.
func (b *bundle) doorOf(t *testing.T) event.DoorTopics {
	t.Helper()
	var id uuid.UUID
	require.NoError(t, b.App.QueryRow(t.Context(), "SELECT id FROM merchant").Scan(&id))
	names, err := app.CreateDoorTopics(t.Context(), b.environ, id, 1, 0)
	require.NoError(t, err)
	topics := event.DoorTopicsOf("payonce", id)
	require.Equal(t, topics.All(), names)
	return topics
}

// command sends a command and returns the answer to it.
func (b *bundle) command(t *testing.T, topics event.DoorTopics, key, invoice string) event.Accepted {
	t.Helper()
	client := b.broker.Client(t, kgo.ConsumeTopics(topics.Replies), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.MetadataMinAge(50*time.Millisecond))
	record := &kgo.Record{
		Topic: topics.Commands, Key: []byte(invoice), Value: []byte(order(invoice, "10.00")),
	}
	for name, value := range map[string]string{
		event.HeaderSpecVersion: event.SpecVersion, event.HeaderID: key, event.HeaderSource: "/shop", event.HeaderType: string(event.SubmitPayment),
	} {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	var data event.Accepted
	for found := false; !found; {
		fetches := client.PollFetches(t.Context())
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if string(r.Key) == invoice {
				require.Equal(t, event.PaymentAccepted, kind(r), "%s", r.Value)
				require.NoError(t, json.Unmarshal(r.Value, &data))
				found = true
			}
		})
	}
	return data
}
