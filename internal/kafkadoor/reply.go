package kafkadoor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
)

// answersOf is the namespace of the answers' ids (UUIDv5). It never changes.
var answersOf = uuid.MustParse("6a1c6a3e-5f0d-4c0e-9a53-0d5c3a7f2b11")

// answerID names the answer to one record: a record that is delivered again gets an
// answer with the same id, which its receiver has seen. It does not follow from the key,
// because a sender that repeats a command in a record of its own waits for an answer of
// its own. The timestamp is in it for a topic that was deleted and made again.
func answerID(r *kgo.Record) uuid.UUID {
	place := []string{
		r.Topic, strconv.Itoa(int(r.Partition)), strconv.FormatInt(r.Offset, 10), strconv.FormatInt(r.Timestamp.UnixMilli(), 10),
	}
	return uuid.NewSHA1(answersOf, []byte(strings.Join(place, "/")))
}

// reply is an answer on its way to the sender.
type reply struct {
	kind    event.Type
	payment uuid.UUID // the subject, when there is one
	data    any
}

func accepted(result accept.Result) (reply, error) {
	body, err := bodyOf(result)
	return reply{
		kind: event.PaymentAccepted, payment: result.PaymentID,
		data: event.Accepted{Payment: body, Replayed: result.Outcome == accept.OutcomeReplayed},
	}, err
}

// bodyOf is the stored answer, or the payment as it stands.
func bodyOf(result accept.Result) (json.RawMessage, error) {
	if result.Answer != nil {
		return result.Answer.Body, nil
	}
	return result.Payment.Encode()
}

func rejected(p *problem.Error) reply {
	r := reply{kind: event.PaymentRejected, data: p.Document}
	if p.Payment != nil {
		r.payment = p.Payment.ID
	}
	return r
}

// record renders the answer to a command, under its sender's key.
func (d *Door) record(command *kgo.Record, to string, answer reply) (*kgo.Record, error) {
	value, err := event.Encode(answer.data)
	if err != nil {
		return nil, fmt.Errorf("answering a command: %w", err)
	}
	var carried accept.Command
	open(command).carry(&carried)
	context := carried.Context()
	headers := []kgo.RecordHeader{
		header(event.HeaderSpecVersion, event.SpecVersion),
		header(event.HeaderID, answerID(command).String()),
		header(event.HeaderType, string(answer.kind)),
		header(event.HeaderSource, d.Source),
		header(event.HeaderTime, time.Now().UTC().Format(time.RFC3339Nano)),
		header(event.HeaderContentType, event.ContentType),
		header(event.HeaderTraceParent, context.TraceParent),
	}
	if answer.payment != uuid.Nil {
		headers = append(headers, header(event.HeaderSubject, answer.payment.String()))
	}
	for _, h := range []event.Header{
		{Name: event.HeaderCorrelationID, Value: context.CorrelationID},
		{Name: event.HeaderCausationID, Value: usable(carried.IdempotencyKey)},
		{Name: event.HeaderIdempotencyKey, Value: usable(carried.IdempotencyKey)},
	} {
		if h.Value != "" {
			headers = append(headers, header(h.Name, h.Value))
		}
	}
	return &kgo.Record{Topic: to, Key: command.Key, Value: value, Headers: headers}, nil
}

// usable returns the key, or nothing when it is none.
func usable(key string) string {
	if idempotency.CheckKey(key) != nil {
		return ""
	}
	return key
}

func header(name, value string) kgo.RecordHeader {
	return kgo.RecordHeader{Key: name, Value: []byte(value)}
}
