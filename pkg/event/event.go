// Package event says what is on Kafka: types, topics, headers and payloads.
//
//	accept, outcome ──> outbox ──> Kafka ──> worker, billing, any consumer
//
// Events are CloudEvents 1.0 in the Kafka binary binding: attributes are ce_*
// headers, the record's value is the JSON data, the record's key is the payment
// id, so that all events of a payment share a partition and keep their order.
// An event's id is fixed when its row is written and is the same on every
// publish; consumers drop repeats by it. No event holds card data, tokens or
// secrets.
package event

import (
	"time"

	"github.com/google/uuid"
)

// PayloadBytesMax keeps an event well under the broker's default 1 MiB limit.
const PayloadBytesMax = 64 << 10

// Type is a versioned CloudEvents type. Another meaning is another version.
type Type string

// The event types of this version.
const (
	PaymentRequested Type = "payonce.PaymentRequested.v1"
	PaymentPending   Type = "payonce.PaymentPending.v1"
	PaymentCaptured  Type = "payonce.PaymentCaptured.v1"
	PaymentFailed    Type = "payonce.PaymentFailed.v1"
	PaymentUnknown   Type = "payonce.PaymentUnknown.v1"
	PaymentCanceled  Type = "payonce.PaymentCanceled.v1"

	RefundRequested Type = "payonce.RefundRequested.v1"
	RefundCompleted Type = "payonce.RefundCompleted.v1"
	RefundFailed    Type = "payonce.RefundFailed.v1"
)

// Event is one event, as the outbox keeps it and the relay publishes it.
type Event struct {
	ID      uuid.UUID // UUIDv7; names the event and orders nothing
	Type    Type
	Source  string // Source(cell)
	Topic   string
	Key     uuid.UUID // payment id
	Time    time.Time // when the fact became true, database clock
	Context Context
	Payload []byte // JSON, at most PayloadBytesMax
}

// Source names the cell, the one database with its services, that wrote an event.
func Source(cell string) string { return "/payonce/" + cell }

// Context is what an event carries on from the request that caused it.
type Context struct {
	TraceParent    string // W3C trace context
	CorrelationID  string // one per client request, the same for all that follows
	CausationID    string // the event or request that led directly to this one
	IdempotencyKey string // the client's key
}

// Topics are the names of the shared topics.
type Topics struct{ Requests, Events, DeadLetters string }

// TopicsWithPrefix returns PREFIX.requests, PREFIX.events, PREFIX.dead-letters.
func TopicsWithPrefix(prefix string) Topics {
	return Topics{Requests: prefix + ".requests", Events: prefix + ".events", DeadLetters: prefix + ".dead-letters"}
}

// All lists the topics, in the order in which a payment meets them.
func (t Topics) All() []string { return []string{t.Requests, t.Events, t.DeadLetters} }
