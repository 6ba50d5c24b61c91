package outbox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

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

// scan reads the columns of read.sql. Headers are taken from the arena.
func (r *Row) scan(rows pgx.Rows, headers *arena) error {
	var text []byte
	// As arrays, which pgx fills from the wire's bytes; through uuid's own Scan
	// each id would be rendered as text and parsed again.
	id, key := (*[16]byte)(&r.EventID), (*[16]byte)(&r.Key)
	if err := rows.Scan(&r.Lane, &r.Seq, id, &r.Topic, key, &text, &r.Payload, &r.Behind); err != nil {
		return fmt.Errorf("reading a row of the outbox: %w", err)
	}
	var err error
	if r.Headers, err = decodeHeaders(text, headers); err != nil {
		return fmt.Errorf("reading the headers of lane %d, seq %d: %w", r.Lane, r.Seq, err)
	}
	return nil
}

// arena hands out headers of many rows from one piece of memory.
type arena struct{ free []Header }

const (
	// arenaHeaders are those of some hundred rows.
	arenaHeaders = 2048
	// rowHeaders is more than a row of ours has.
	rowHeaders = 16
)

// room returns an empty slice to append a row's headers to.
func (a *arena) room() []Header {
	if len(a.free) < rowHeaders {
		a.free = make([]Header, arenaHeaders)
	}
	return a.free[:0:rowHeaders]
}

// keep makes the next room begin behind the headers.
func (a *arena) keep(headers []Header) []Header {
	if len(headers) <= rowHeaders {
		a.free = a.free[len(headers):]
	}
	return slices.Clip(headers)
}

// decodeHeaders reads the headers in the form in which PostgreSQL prints jsonb.
// Values share the memory of text.
//
// A relay decodes ten headers for each event, and a general decoder spends more
// time on them than the rest of the relay on the event. Anything unusual, such as
// an escaped character, is left to the general one.
func decodeHeaders(text []byte, from *arena) ([]Header, error) {
	if bytes.IndexByte(text, '\\') >= 0 {
		return decodeAnyHeaders(text)
	}
	headers := from.room()
	rest, ok := bytes.CutPrefix(text, []byte("["))
	for ok {
		var name, value []byte
		if name, rest, ok = cutQuoted(rest, `{"n": "`); !ok {
			break
		}
		if value, rest, ok = cutQuoted(rest, `, "v": "`); !ok {
			break
		}
		headers = append(headers, Header{headerName(name), value})
		if string(rest) == "}]" {
			return from.keep(headers), nil
		}
		rest, ok = bytes.CutPrefix(rest, []byte("}, "))
	}
	return decodeAnyHeaders(text)
}

// cutQuoted returns what stands between prefix and the next quotation mark, and
// what comes after that.
func cutQuoted(text []byte, prefix string) (quoted, rest []byte, ok bool) {
	if len(text) < len(prefix) || string(text[:len(prefix)]) != prefix {
		return nil, nil, false
	}
	text = text[len(prefix):]
	end := bytes.IndexByte(text, '"')
	if end < 0 {
		return nil, nil, false
	}
	return text[:end:end], text[end+1:], true
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
