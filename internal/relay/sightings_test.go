package relay_test

import (
	"bytes"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// sightings are the records of a topic, in the order of each partition.
type sightings struct {
	ids      map[string]*kgo.Record // by event id, the first delivery
	repeated int
	changed  []string            // ids whose repeats differ from their first delivery
	byKey    map[string][]string // payloads in the order of first deliveries
}

func newSightings(records []*kgo.Record) sightings {
	s := sightings{ids: map[string]*kgo.Record{}, byKey: map[string][]string{}}
	for _, r := range records {
		id := idOf(r)
		first, known := s.ids[id]
		switch {
		case !known:
			s.ids[id] = r
			s.byKey[string(r.Key)] = append(s.byKey[string(r.Key)], string(r.Value))
		case !bytes.Equal(first.Value, r.Value) || !bytes.Equal(first.Key, r.Key) || fmt.Sprint(first.Headers) != fmt.Sprint(r.Headers):
			s.changed = append(s.changed, id)
			fallthrough
		default:
			s.repeated++
		}
	}
	return s
}

func idOf(r *kgo.Record) string {
	for _, h := range r.Headers {
		if h.Key == "ce_id" {
			return string(h.Value)
		}
	}
	return ""
}

// disorder returns the first deliveries that are not the next ones of their key:
// the test numbers the events of a key from 0.
func (s sightings) disorder() []string {
	var found []string
	for key, payloads := range s.byKey {
		for n, payload := range payloads {
			if want := fmt.Sprintf(`{"n":%d}`, n); payload != want {
				found = append(found, fmt.Sprintf("%s: %s where %s is due", key, payload, want))
				break
			}
		}
	}
	return found
}
