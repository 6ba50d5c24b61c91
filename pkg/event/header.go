package event

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Header names of the CloudEvents Kafka binding (binary mode) and of our own
// extension attributes.
// Source: CloudEvents Kafka Protocol Binding 1.0.2, section 3.2; Distributed
// Tracing extension for traceparent, which also goes by its bare name so that
// OpenTelemetry's propagators find it.
const (
	HeaderSpecVersion    = "ce_specversion"
	HeaderID             = "ce_id"
	HeaderType           = "ce_type"
	HeaderSource         = "ce_source"
	HeaderSubject        = "ce_subject"
	HeaderTime           = "ce_time"
	HeaderContentType    = "content-type"
	HeaderTraceParent    = "traceparent"
	HeaderCorrelationID  = "correlationid"
	HeaderCausationID    = "causationid"
	HeaderIdempotencyKey = "idempotencykey"
)

// SpecVersion and ContentType are the constant attributes of every event.
const (
	SpecVersion = "1.0"
	ContentType = "application/json"
)

// Header is one record header.
type Header struct {
	Name  string `json:"n"`
	Value string `json:"v"`
}

// Headers renders the event's attributes. Context that is absent has no header.
func (e Event) Headers() []Header {
	headers := []Header{
		{HeaderSpecVersion, SpecVersion},
		{HeaderID, e.ID.String()},
		{HeaderType, string(e.Type)},
		{HeaderSource, e.Source},
		{HeaderSubject, e.Key.String()},
		{HeaderTime, e.Time.UTC().Format(time.RFC3339Nano)},
		{HeaderContentType, ContentType},
	}
	for _, h := range []Header{
		{HeaderTraceParent, e.Context.TraceParent},
		{HeaderCorrelationID, e.Context.CorrelationID},
		{HeaderCausationID, e.Context.CausationID},
		{HeaderIdempotencyKey, e.Context.IdempotencyKey},
	} {
		if h.Value != "" {
			headers = append(headers, h)
		}
	}
	return headers
}

// ErrNotAnEvent is returned for a record that lacks what every event has.
var ErrNotAnEvent = errors.New("not a CloudEvents 1.0 record of payonce")

// Received is the envelope of a record that a consumer got.
type Received struct {
	ID      uuid.UUID
	Type    Type
	Key     uuid.UUID
	Context Context
}

// Receive reads the envelope from a record's key and headers. It does not look
// at the payload. It returns ErrNotAnEvent, wrapped with what is wrong.
func Receive(key []byte, headers []Header) (Received, error) {
	byName := make(map[string]string, len(headers))
	for _, h := range headers {
		byName[h.Name] = h.Value
	}
	if v := byName[HeaderSpecVersion]; v != SpecVersion {
		return Received{}, fmt.Errorf("%s is %.16q, not %q: %w", HeaderSpecVersion, v, SpecVersion, ErrNotAnEvent)
	}
	id, err := uuid.Parse(byName[HeaderID])
	if err != nil {
		return Received{}, fmt.Errorf("%s is no UUID: %w", HeaderID, ErrNotAnEvent)
	}
	payment, err := uuid.ParseBytes(key)
	if err != nil {
		return Received{}, fmt.Errorf("the record's key is no payment id: %w", ErrNotAnEvent)
	}
	return Received{
		ID: id, Type: Type(byName[HeaderType]), Key: payment,
		Context: Context{
			TraceParent:    byName[HeaderTraceParent],
			CorrelationID:  byName[HeaderCorrelationID],
			CausationID:    byName[HeaderCausationID],
			IdempotencyKey: byName[HeaderIdempotencyKey],
		},
	}, nil
}
