package kafkadoor

import (
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// pauseMin and pauseMax bound the pauses of a partition that cannot go on: short
// enough for a key that is held by a commit, long enough for a database that is down
// for hours.
const (
	pauseMin = 50 * time.Millisecond
	pauseMax = 5 * time.Second
)

// place is one partition.
type place struct {
	topic     string
	partition int32
}

func (p place) String() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

func (p place) asMap() map[string][]int32 { return map[string][]int32{p.topic: {p.partition}} }

// hold is why a partition is not read: its record at offset failed, fails times in a
// row, and is tried again at until. Faults are the fails that nobody knows a reason
// for.
type hold struct {
	offset        int64
	fails, faults int
	until         time.Time
	waiting       bool // paused
}

// holds are the partitions that wait, each for itself.
type holds struct {
	mu      sync.Mutex
	byPlace map[place]*hold
}

func newHolds() holds { return holds{byPlace: map[place]*hold{}} }

// put pauses a partition in front of a record that failed.
func (h *holds) put(client *kgo.Client, p place, offset int64, fault bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.byPlace[p]
	if held == nil || held.offset != offset {
		held = &hold{offset: offset}
		h.byPlace[p] = held
	}
	held.until = time.Now().Add(min(pauseMin<<min(held.fails, 10), pauseMax))
	held.fails++
	if fault {
		held.faults++
	}
	held.waiting = true
	client.PauseFetchPartitions(p.asMap())
}

// faults is how often the record has failed and nobody knows why.
func (h *holds) faults(p place, offset int64) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.byPlace[p]; held != nil && held.offset == offset {
		return held.faults
	}
	return 0
}

// drop forgets a partition that goes on.
func (h *holds) drop(p place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.byPlace, p)
}

// resume lets partitions be read whose pause is over, and returns when the next one's
// is, or the zero time.
func (h *holds) resume(client *kgo.Client) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	var next time.Time
	now := time.Now()
	for p, held := range h.byPlace {
		switch {
		case !held.waiting:
		case !held.until.After(now):
			held.waiting = false
			client.ResumeFetchPartitions(p.asMap())
		case next.IsZero() || held.until.Before(next):
			next = held.until
		}
	}
	return next
}

// forget is for partitions that went to another process. Kafka's client keeps a pause
// over rebalances.
func (h *holds) forget(client *kgo.Client, lost map[string][]int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for topic, partitions := range lost {
		for _, partition := range partitions {
			delete(h.byPlace, place{topic, partition})
		}
	}
	client.ResumeFetchPartitions(lost)
}
