package event_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/event"
)

func ExampleTopicsWithPrefix() {
	fmt.Println(event.TopicsWithPrefix("payonce").All())
	// Output: [payonce.requests payonce.events payonce.dead-letters]
}

func captured() event.Event {
	return event.Event{
		ID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000003"), Type: event.PaymentCaptured, Source: event.Source("main"),
		Topic: "payonce.events", Key: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000001"),
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC),
		Context: event.Context{
			TraceParent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", CorrelationID: "c-1", IdempotencyKey: "k-1",
		},
	}
}

func TestE1_AnEventIsACloudEventInTheKafkaBinding(t *testing.T) {
	t.Parallel()
	require.Equal(t, []event.Header{
		{Name: "ce_specversion", Value: "1.0"},
		{Name: "ce_id", Value: "0190a1b2-c3d4-7000-8000-000000000003"},
		{Name: "ce_type", Value: "payonce.PaymentCaptured.v1"},
		{Name: "ce_source", Value: "/payonce/main"},
		{Name: "ce_subject", Value: "0190a1b2-c3d4-7000-8000-000000000001"},
		{Name: "ce_time", Value: "2026-05-04T03:02:01Z"},
		{Name: "content-type", Value: "application/json"},
		{Name: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
		{Name: "correlationid", Value: "c-1"},
		{Name: "idempotencykey", Value: "k-1"},
	}, captured().Headers(), "R8: an absent causation id has no header")
}

func TestAReceivedEnvelopeIsTheOneThatWasSent(t *testing.T) {
	t.Parallel()
	sent := captured()
	got, err := event.Receive([]byte(sent.Key.String()), sent.Headers())
	require.NoError(t, err)
	require.Equal(t, event.Received{ID: sent.ID, Type: sent.Type, Key: sent.Key, Context: sent.Context}, got)
}

func TestW6_ARecordThatIsNoEventSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	good := captured()
	without := func(name string) []event.Header {
		var rest []event.Header
		for _, h := range good.Headers() {
			if h.Name != name {
				rest = append(rest, h)
			}
		}
		return rest
	}
	for name, receive := range map[string]func() (event.Received, error){
		"ce_specversion": func() (event.Received, error) {
			return event.Receive([]byte(good.Key.String()), without("ce_specversion"))
		},
		"ce_id": func() (event.Received, error) { return event.Receive([]byte(good.Key.String()), without("ce_id")) },
		"key":   func() (event.Received, error) { return event.Receive([]byte("42"), good.Headers()) },
	} {
		_, err := receive()
		require.ErrorIs(t, err, event.ErrNotAnEvent, name)
		require.ErrorContains(t, err, name)
	}
}

func TestAnEventBeyondItsLimitIsRefusedWhereItIsMade(t *testing.T) {
	t.Parallel()
	_, err := event.Encode(strings.Repeat("x", event.PayloadBytesMax))
	require.ErrorContains(t, err, "more than 65536")
}
