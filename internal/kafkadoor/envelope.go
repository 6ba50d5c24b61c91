package kafkadoor

import (
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// reasonOwnEvent is in the dead letters of this door only.
const reasonOwnEvent inbox.Reason = "own-event"

// envelope is what a record says about itself.
type envelope struct {
	headers map[string]string
	twice   bool // a header of CloudEvents came more than once
	// carried is what the payment's events and the answer carry on, as far as it is
	// sane, so that all of them are of one trace.
	carried event.Context
}

// refused is a record that is no command, and what becomes of it.
type refused struct {
	problem *problem.Error // nil: it is answered by nobody
	reason  inbox.Reason   // not empty: it goes to the dead letters, whole
	detail  string         // in the dead letter
}

func open(r *kgo.Record) envelope {
	e := envelope{headers: make(map[string]string, len(r.Headers))}
	for _, h := range r.Headers {
		if _, seen := e.headers[h.Key]; seen && strings.HasPrefix(h.Key, "ce_") {
			e.twice = true
		}
		e.headers[h.Key] = string(h.Value)
	}
	e.carried = accept.Command{
		IdempotencyKey: e.id(), CausationID: e.id(),
		TraceParent: e.headers[event.HeaderTraceParent], CorrelationID: e.headers[event.HeaderCorrelationID],
	}.Context()
	return e
}

func (e envelope) id() string { return e.headers[event.HeaderID] }

// check says why the record is no command that this door knows. A command whose key
// leaves no room for an answer is none: it would be carried out and nobody would hear.
func (e envelope) check(keyBytes int) *refused {
	kind, source := e.headers[event.HeaderType], e.headers[event.HeaderSource]
	switch {
	case isOurs(kind, source):
		// Nobody is answered. Where somebody copies topics into each other an answer would
		// come back as a command, and be answered, without an end.
		return &refused{reason: reasonOwnEvent, detail: "an event of payonce is no command"}
	case e.twice:
		// Which one, is not said: a name is the sender's and as long as it likes.
		return malformed("a header ce_… came more than once")
	case keyBytes > kafka.RecordBytesMax:
		return malformed(fmt.Sprintf("the record's key has more than %d bytes", kafka.RecordBytesMax))
	case e.headers[event.HeaderSpecVersion] != event.SpecVersion:
		return malformed(event.HeaderSpecVersion + " is not " + event.SpecVersion)
	case source == "":
		return malformed(event.HeaderSource + " is missing")
	case !isTime(e.headers[event.HeaderTime]):
		// Passed over, an old command would be as young as its copy.
		return malformed(event.HeaderTime + " is no time of RFC 3339")
	case kind != string(event.SubmitPayment):
		detail := event.HeaderType + " is not " + string(event.SubmitPayment)
		return &refused{problem: problem.CommandUnsupported.Failure(detail + "."), reason: inbox.ReasonUnknownVersion, detail: detail}
	case e.id() == "":
		detail := event.HeaderID + " is missing"
		return &refused{
			problem: problem.KeyMissing.Failure("Send a header " + event.HeaderID + " with a value that is new for each payment and the same for each repeat."),
			reason:  inbox.ReasonMalformed, detail: detail,
		}
	}
	return nil
}

// isOurs recognises the events of this and other cells, and answers of this door. A
// type that is only like one of ours is a sender's mistake, and its sender hears of it.
func isOurs(kind, source string) bool {
	return strings.HasPrefix(source, event.Source("")) || (kind != string(event.SubmitPayment) && slices.Contains(event.Types(), event.Type(kind)))
}

// isTime reports whether the text is a time, or absent.
func isTime(text string) bool {
	_, err := time.Parse(time.RFC3339, text)
	return text == "" || err == nil
}

func malformed(detail string) *refused {
	return &refused{problem: problem.CommandMalformed.Failure(detail + "."), reason: inbox.ReasonMalformed, detail: detail}
}

// command reads the record as the HTTP door reads a request.
func (e envelope) command(r *kgo.Record) (accept.Command, error) {
	if errors.Is(idempotency.CheckPlainKey(e.id()), idempotency.ErrKeyQuoted) {
		return accept.Command{}, problem.KeyMalformed.Failure("Send the key in " + event.HeaderID + " as it is, without quotes.")
	}
	if len(r.Value) > accept.BodyBytesMax {
		f := problem.BodyTooLarge.Failure(fmt.Sprintf("The record's value has more than %d bytes.", accept.BodyBytesMax))
		f.Limit = accept.BodyBytesMax
		return accept.Command{}, f
	}
	if content := e.headers[event.HeaderContentType]; content != "" {
		media, parameters, err := mime.ParseMediaType(content)
		charset := parameters["charset"]
		if err != nil || media != event.ContentType || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
			return accept.Command{}, problem.UnsupportedMedia.Failure("Send the header content-type: application/json, in UTF-8.")
		}
	}
	command, err := accept.DecodePayment(r.Value)
	if err != nil {
		return accept.Command{}, err
	}
	command.SentAt, command.IdempotencyKey, command.KeyField = e.sentAt(r), e.id(), event.HeaderID
	command.TraceParent, command.CorrelationID, command.CausationID = e.carried.TraceParent, e.carried.CorrelationID, e.carried.CausationID
	return command, nil
}

// sentAt is the record's timestamp, which is the broker's where the topic says so
// (message.timestamp.type=LogAppendTime), or what the sender says if that is earlier: a
// record that was copied into the topic again has the time of the copy.
func (e envelope) sentAt(r *kgo.Record) time.Time {
	at := r.Timestamp
	if said, err := time.Parse(time.RFC3339, e.headers[event.HeaderTime]); err == nil && said.Before(at) {
		return said
	}
	return at
}
