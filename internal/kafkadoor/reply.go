package kafkadoor

import (
	"cmp"
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
	// correlation is what the payment's events carry whose command says nothing of it.
	correlation string
	// cardData means that the command is refused for it: what is sent back of the command
	// has none.
	cardData bool
	data     any
}

func accepted(result accept.Result) (reply, error) {
	body, err := bodyOf(result)
	return reply{
		kind: event.PaymentAccepted, payment: result.PaymentID, correlation: result.PaymentID.String(),
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
	r := reply{kind: event.PaymentRejected, cardData: p.Of(problem.CardDataRefused), data: p.Document}
	if p.Payment != nil {
		r.payment = p.Payment.ID
	}
	return r
}

// record renders the answer to a command, under its sender's record key.
func (d *Door) record(command *kgo.Record, carried event.Context, to string, answer reply) (*kgo.Record, error) {
	value, err := event.Encode(answer.data)
	if err != nil {
		return nil, fmt.Errorf("answering a command: %w", err)
	}
	subject := ""
	if answer.payment != uuid.Nil {
		subject = answer.payment.String()
	}
	key, idempotencyKey := command.Key, usable(carried.IdempotencyKey)
	if answer.cardData && accept.HasCardNumber(string(key)) {
		key = nil
	}
	if answer.cardData && accept.HasCardNumber(idempotencyKey) {
		idempotencyKey = ""
	}
	record := &kgo.Record{Topic: to, Key: key, Value: value}
	for _, h := range []event.Header{
		{Name: event.HeaderSpecVersion, Value: event.SpecVersion},
		{Name: event.HeaderID, Value: answerID(command).String()},
		{Name: event.HeaderType, Value: string(answer.kind)},
		{Name: event.HeaderSource, Value: d.Source},
		{Name: event.HeaderSubject, Value: subject},
		{Name: event.HeaderTime, Value: time.Now().UTC().Format(time.RFC3339Nano)},
		{Name: event.HeaderContentType, Value: event.ContentType},
		{Name: event.HeaderTraceParent, Value: carried.TraceParent},
		{Name: event.HeaderCorrelationID, Value: cmp.Or(carried.CorrelationID, answer.correlation)},
		{Name: event.HeaderCausationID, Value: idempotencyKey},
		{Name: event.HeaderIdempotencyKey, Value: idempotencyKey},
	} {
		if h.Value != "" {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: h.Name, Value: []byte(h.Value)})
		}
	}
	return record, nil
}

// usable returns the key, or nothing when it is none.
func usable(key string) string {
	if idempotency.CheckKey(key) != nil {
		return ""
	}
	return key
}
