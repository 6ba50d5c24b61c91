package inbox

import (
	"fmt"
	"regexp"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/pkg/event"
)

// Received is one message as a handler gets it.
type Received struct {
	event.Received           // id, type, payment id, context
	Payload        []byte    // the event's data, not looked at yet
	RecordTime     time.Time // the Kafka record's timestamp
}

// Receive reads the envelope of a record. It returns event.ErrNotAnEvent, wrapped
// with what is wrong.
func Receive(record *kgo.Record) (Received, error) {
	headers := make([]event.Header, len(record.Headers))
	for i, h := range record.Headers {
		headers[i] = event.Header{Name: h.Key, Value: string(h.Value)}
	}
	envelope, err := event.Receive(record.Key, headers)
	if err != nil {
		return Received{}, err
	}
	if envelope.Type == "" {
		return Received{}, fmt.Errorf("%s is missing: %w", event.HeaderType, event.ErrNotAnEvent)
	}
	return Received{Received: envelope, Payload: record.Value, RecordTime: record.Timestamp}, nil
}

// interest is which types a consumer handles.
type interest struct {
	types map[event.Type]bool
	names map[string]bool // the types' names, without version
}

func interestIn(types []event.Type) interest {
	i := interest{types: make(map[event.Type]bool), names: make(map[string]bool)}
	for _, t := range types {
		i.types[t] = true
		i.names[unversioned(t)] = true
	}
	return i
}

func (i interest) handles(t event.Type) bool { return i.types[t] }

// lacks reports whether t is another version of a type that is handled. A topic
// is shared, and a type with another name is someone else's; another version is
// news that this consumer is waiting for and cannot read.
func (i interest) lacks(t event.Type) bool { return !i.types[t] && i.names[unversioned(t)] }

var version = regexp.MustCompile(`\.v[0-9]+$`)

func unversioned(t event.Type) string { return version.ReplaceAllString(string(t), "") }
