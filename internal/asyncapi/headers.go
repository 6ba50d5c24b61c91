package asyncapi

import (
	"slices"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// headerTexts are what the headers say.
var headerTexts = map[string]string{
	event.HeaderSpecVersion:    "CloudEvents' version.",
	event.HeaderID:             "Names the event and is the same on every publish. Of a command: its idempotency key.",
	event.HeaderType:           "The versioned type.",
	event.HeaderSource:         "Who wrote it: /payonce/CELL. Of a command: whatever the sender calls itself.",
	event.HeaderSubject:        "The payment's id.",
	event.HeaderTime:           "When it became true, RFC 3339.",
	event.HeaderContentType:    "The payload's media type.",
	event.HeaderTraceParent:    "W3C trace context.",
	event.HeaderCorrelationID:  "One per client request, the same for all that follows.",
	event.HeaderCausationID:    "What led directly to this.",
	event.HeaderIdempotencyKey: "The client's key.",
	inbox.HeaderReason:         "Why the record was refused: a stable code.",
	inbox.HeaderDetail:         "The same for people.",
	inbox.HeaderConsumer:       "Who refused it.",
	inbox.HeaderTopic:          "Where it was read.",
	inbox.HeaderPartition:      "The partition there.",
	inbox.HeaderOffset:         "The offset there.",
	inbox.HeaderTimestamp:      "The record's timestamp, RFC 3339.",
}

// full is an event with everything that an envelope can have.
func full(kind event.Type) event.Event {
	return event.Event{
		ID: exampleEvent, Type: kind, Source: event.Source("main"), Key: examplePayment, Time: exampleTime,
		Context: event.Context{
			TraceParent:   "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
			CorrelationID: examplePayment.String(), CausationID: "checkout-17", IdempotencyKey: "8f6f1e1c-6d5c-4f3a-9d2b-1f0a9c7e2b11",
		},
	}
}

// exampleHeaders are the headers of a message's example.
func (m message) exampleHeaders() object {
	headers := object{}
	for _, h := range full(m.kind).Headers() {
		headers[h.Name] = h.Value
	}
	if m.taken {
		headers[event.HeaderID], headers[event.HeaderSource] = "8f6f1e1c-6d5c-4f3a-9d2b-1f0a9c7e2b11", "/shop"
		for _, name := range []string{event.HeaderSubject, event.HeaderCausationID, event.HeaderIdempotencyKey} {
			delete(headers, name)
		}
	}
	return headers
}

// headerSchemas describe the headers of events, of commands, of their answers, and of
// dead letters. What an event always has is what it has without a context.
func headerSchemas() object {
	var all, always []string
	for _, h := range full(event.PaymentCaptured).Headers() {
		all = append(all, h.Name)
	}
	for _, h := range (event.Event{}).Headers() {
		always = append(always, h.Name)
	}
	withoutSubject := slices.DeleteFunc(slices.Clone(always), func(name string) bool { return name == event.HeaderSubject })
	command := []string{event.HeaderSpecVersion, event.HeaderID, event.HeaderType, event.HeaderSource}
	carried := []string{event.HeaderTime, event.HeaderContentType, event.HeaderTraceParent, event.HeaderCorrelationID}
	letter := []string{
		inbox.HeaderReason, inbox.HeaderDetail, inbox.HeaderConsumer, inbox.HeaderTopic, inbox.HeaderPartition, inbox.HeaderOffset,
		inbox.HeaderTimestamp,
	}
	return object{
		"EventHeaders":      headersOf(all, always),
		"ReplyHeaders":      headersOf(all, withoutSubject),
		"CommandHeaders":    headersOf(slices.Concat(command, carried), command),
		"DeadLetterHeaders": headersOf(letter, letter),
	}
}

func headersOf(names, required []string) object {
	properties := object{}
	for _, name := range names {
		properties[name] = object{"type": "string", "description": headerTexts[name]}
	}
	return object{"type": "object", "required": required, "properties": properties}
}
