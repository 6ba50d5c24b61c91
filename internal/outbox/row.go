package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/event"
)

// Row is an event that waits to be published.
type Row struct {
	Lane    int16
	Seq     int64 // order within the lane; within a payment the order of commits
	EventID uuid.UUID
	Topic   string
	Key     uuid.UUID // payment id
	Headers []Header
	Payload []byte
	// Behind is set when an earlier row of the payment is parked. The row must
	// not be published, or it would overtake that one.
	Behind bool
}

// Header is a record header as the broker takes it.
type Header struct {
	Name  string
	Value []byte
}

// scan reads the columns of read.sql.
func (r *Row) scan(rows pgx.Rows) error {
	var headers []byte
	// As arrays, which pgx fills from the wire's bytes; through uuid's own Scan
	// each id would be rendered as text and parsed again.
	id, key := (*[16]byte)(&r.EventID), (*[16]byte)(&r.Key)
	if err := rows.Scan(&r.Lane, &r.Seq, id, &r.Topic, key, &headers, &r.Payload, &r.Behind); err != nil {
		return fmt.Errorf("reading a row of the outbox: %w", err)
	}
	var err error
	if r.Headers, err = decodeHeaders(headers); err != nil {
		return fmt.Errorf("reading the headers of lane %d, seq %d: %w", r.Lane, r.Seq, err)
	}
	return nil
}

// headersUsual is how many headers an event has, give or take one.
const headersUsual = 10

// decodeHeaders reads the headers in the form in which PostgreSQL prints jsonb.
// Values share the memory of text.
//
// A relay decodes ten headers for each event, and a general decoder spends more
// time on them than the rest of the relay on the event. Anything unusual, such as
// an escaped character, is left to the general one.
func decodeHeaders(text []byte) ([]Header, error) {
	if bytes.IndexByte(text, '\\') >= 0 {
		return decodeAnyHeaders(text)
	}
	headers := make([]Header, 0, headersUsual)
	rest, ok := bytes.CutPrefix(text, []byte(`[`))
	for ok {
		var name, value []byte
		if rest, ok = bytes.CutPrefix(rest, []byte(`{"n": "`)); !ok {
			break
		}
		if name, rest, ok = bytes.Cut(rest, []byte(`", "v": "`)); !ok {
			break
		}
		if value, rest, ok = bytes.Cut(rest, []byte(`"`)); !ok {
			break
		}
		headers = append(headers, Header{headerName(name), value[:len(value):len(value)]})
		if string(rest) == "}]" {
			return headers, nil
		}
		rest, ok = bytes.CutPrefix(rest, []byte(`}, `))
	}
	return decodeAnyHeaders(text)
}

func decodeAnyHeaders(text []byte) ([]Header, error) {
	var decoded []event.Header
	if err := json.Unmarshal(text, &decoded); err != nil {
		return nil, err
	}
	headers := make([]Header, len(decoded))
	for i, h := range decoded {
		headers[i] = Header{h.Name, []byte(h.Value)}
	}
	return headers, nil
}

// headerNames holds the names that events have, so that they are not allocated
// anew for each event.
var headerNames = func() map[string]string {
	names := map[string]string{}
	for _, name := range []string{
		event.HeaderSpecVersion, event.HeaderID, event.HeaderType, event.HeaderSource, event.HeaderSubject, event.HeaderTime,
		event.HeaderContentType, event.HeaderTraceParent, event.HeaderCorrelationID, event.HeaderCausationID, event.HeaderIdempotencyKey,
	} {
		names[name] = name
	}
	return names
}()

func headerName(name []byte) string {
	if known, ok := headerNames[string(name)]; ok {
		return known
	}
	return string(name)
}
