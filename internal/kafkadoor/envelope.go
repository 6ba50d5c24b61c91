package kafkadoor

import (
	"fmt"
	"mime"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// reasonOwnEvent is in the dead letters of this door only.
const reasonOwnEvent inbox.Reason = "own-event"

// commandName is SubmitPayment without its version.
var commandName = strings.TrimSuffix(string(event.SubmitPayment), ".v1")

// envelope is what a record says about itself.
type envelope struct {
	headers map[string]string
	twice   string // the name of a header that came more than once
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
			e.twice = h.Key
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

// check says why the record is no command that this door knows.
func (e envelope) check() *refused {
	kind, source := e.headers[event.HeaderType], e.headers[event.HeaderSource]
	switch {
	case isOurs(kind, source):
		// Nobody is answered. Where somebody copies topics into each other an answer would
		// come back as a command, and be answered, without an end.
		return &refused{reason: reasonOwnEvent, detail: "an event of payonce is no command"}
	case e.twice != "":
		return malformed(e.twice + " came more than once")
	case e.headers[event.HeaderSpecVersion] != event.SpecVersion:
		return malformed(event.HeaderSpecVersion + " is not " + event.SpecVersion)
	case source == "":
		return malformed(event.HeaderSource + " is missing")
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

// isOurs recognises the events of this and other cells, and answers of this door.
func isOurs(kind, source string) bool {
	return strings.HasPrefix(source, event.Source("")) ||
		(strings.HasPrefix(kind, "payonce.") && !strings.HasPrefix(kind, commandName+"."))
}

func malformed(detail string) *refused {
	return &refused{problem: problem.CommandMalformed.Failure(detail + "."), reason: inbox.ReasonMalformed, detail: detail}
}

// command reads the record as the HTTP door reads a request.
func (e envelope) command(r *kgo.Record) (accept.Command, error) {
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
	command.SentAt, command.IdempotencyKey = e.sentAt(r), e.id()
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
