package asyncapi

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/event"
)

// object is a JSON object of the document.
type object map[string]any

// Sections are the document's sections, in the order in which it is read.
var Sections = []string{"asyncapi", "info", "defaultContentType", "channels", "operations", "components"}

const introduction = `Events are CloudEvents 1.0 in the Kafka binary binding: attributes are ` + "`ce_*`" + ` headers, the value is JSON, the
key is the payment's id, so that all events of a payment share a partition and keep their order. An event may come more than
once, always with the same ` + "`ce_id`" + `; drop repeats by it. Members may be added within a version; another meaning is another
version. Topics are shown with the default prefix, payonce.`

// Document returns the AsyncAPI 3 document, as JSON. Payload schemas are referred to
// beside it, in events/.
func Document() (json.RawMessage, error) {
	described := object{}
	for _, m := range messages {
		message, err := m.describe()
		if err != nil {
			return nil, err
		}
		described[Name(m.kind)] = message
	}
	described[deadLetter] = object{
		"summary":     "A record that its reader could not handle, whole: its key, its value and its headers, and why.",
		"contentType": "application/octet-stream",
		"headers":     object{"$ref": "#/components/schemas/DeadLetterHeaders"},
	}
	return json.Marshal(object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "payonce", "version": "1.0.0", "description": introduction,
			"license": object{"name": "Apache-2.0", "url": "https://www.apache.org/licenses/LICENSE-2.0"},
		},
		"defaultContentType": event.ContentType,
		"channels":           channels(),
		"operations":         operations(),
		"components":         object{"messages": described, "schemas": headerSchemas()},
	})
}

// deadLetter is the name of the one message that has no type of its own.
const deadLetter = "DeadLetter"

// describe describes a type of message.
func (m message) describe() (object, error) {
	example, err := event.Encode(m.example())
	if err != nil {
		return nil, err
	}
	headers, key := "EventHeaders", "The payment's id."
	switch m.kind {
	case event.SubmitPayment:
		headers, key = "CommandHeaders", "The sender's own; the answer has the same."
	case event.PaymentAccepted, event.PaymentRejected:
		headers, key = "ReplyHeaders", "The command's."
	default: // events keep what is set above
	}
	return object{
		"name": string(m.kind), "title": Name(m.kind), "summary": m.summary, "contentType": event.ContentType,
		"headers": object{"$ref": "#/components/schemas/" + headers},
		"payload": object{
			"schemaFormat": "application/schema+json;version=draft-2020-12",
			"schema":       object{"$ref": "./events/" + Name(m.kind) + ".json"},
		},
		"bindings": object{"kafka": object{"key": object{"type": "string", "description": key}, "bindingVersion": "0.5.0"}},
		"examples": []object{{"name": Name(m.kind), "payload": json.RawMessage(example), "headers": m.exampleHeaders()}},
	}, nil
}

// The channels' names in the document.
const (
	channelRequests    = "requests"
	channelEvents      = "events"
	channelDeadLetters = "deadLetters"
	channelCommands    = "intake"
	channelReplies     = "intakeReplies"
)

// channelOf is where a type of message is.
func channelOf(kind event.Type) string {
	switch kind {
	case event.SubmitPayment:
		return channelCommands
	case event.PaymentAccepted, event.PaymentRejected:
		return channelReplies
	case event.PaymentRequested, event.RefundRequested:
		return channelRequests
	default:
		return channelEvents
	}
}

// channels are the topics with the messages that are on them.
func channels() object {
	shared, door := event.TopicsWithPrefix("payonce"), event.DoorTopicsOf("payonce", uuid.Nil)
	all := object{}
	for _, c := range []struct{ name, address, about string }{
		{channelRequests, shared.Requests, "What is to be done. Workers read it; a record of it charges nobody by itself."},
		{channelEvents, shared.Events, "What became of payments and refunds."},
		{channelDeadLetters, shared.DeadLetters, "Records that a reader could not handle."},
		{channelCommands, door.Commands, "One merchant's commands. Whoever may write to it pays as that merchant: guard it by an ACL."},
		{channelReplies, door.Replies, "The answers to one merchant's commands."},
	} {
		address := strings.ReplaceAll(c.address, uuid.Nil.String(), "{merchant}")
		channel := object{"address": address, "description": c.about, "messages": messagesOf(c.name)}
		if strings.Contains(address, "{") {
			channel["parameters"] = object{"merchant": object{"description": "The merchant's id, a UUID."}}
		}
		all[c.name] = channel
	}
	return all
}

func messagesOf(channel string) object {
	found := object{}
	for _, m := range messages {
		if channelOf(m.kind) == channel {
			found[Name(m.kind)] = object{"$ref": "#/components/messages/" + Name(m.kind)}
		}
	}
	if channel == channelDeadLetters {
		found[deadLetter] = object{"$ref": "#/components/messages/" + deadLetter}
	}
	return found
}

// operations are what payonce does on the channels.
func operations() object {
	to := func(channel string) object { return object{"$ref": "#/channels/" + channel} }
	return object{
		"publishRequests":    object{"action": "send", "channel": to(channelRequests), "summary": "Once what is to be done has committed."},
		"publishEvents":      object{"action": "send", "channel": to(channelEvents), "summary": "Once what they tell has committed."},
		"keepDeadLetters":    object{"action": "send", "channel": to(channelDeadLetters), "summary": "Before a partition goes on behind a bad record."},
		"takeMerchantsOrder": object{"action": "receive", "channel": to(channelCommands), "reply": object{"channel": to(channelReplies)}},
	}
}
