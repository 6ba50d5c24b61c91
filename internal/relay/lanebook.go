package relay

import (
	"slices"
	"sync"
	"time"

	"github.com/payonce/payonce/internal/outbox"
)

// laneRest is how long a lane is left alone after a row of it could not be
// published, so that the row is not tried in a tight loop.
const laneRest = 250 * time.Millisecond

// laneBook remembers which lanes this relay should leave alone, or take with
// care.
type laneBook struct {
	mu    sync.Mutex
	state [outbox.Lanes]laneState
	turn  bool // nextSuspect takes turns with ordinary work
}

type laneState struct {
	lateRows, lateBytes int       // left with the client by a step that gave up waiting
	restUntil           time.Time // after a row could not be published
	suspectTo           int64     // a row up to this seq may be one that can never be published
}

// free returns the lanes that may be leased.
func (b *laneBook) free(now time.Time) []int16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	lanes := make([]int16, 0, outbox.Lanes)
	for lane := range b.state {
		// A late record may yet arrive. Reading its lane again would only publish
		// what is about to be published anyway, again and again while it lasts.
		if s := &b.state[lane]; s.lateRows == 0 && now.After(s.restUntil) {
			lanes = append(lanes, int16(lane))
		}
	}
	return lanes
}

func (b *laneBook) rest(lane int16) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[lane].restUntil = time.Now().Add(laneRest)
}

// addLate counts rows that are left with the client, or that came back from it
// when rows is negative.
func (b *laneBook) addLate(lane int16, rows, bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[lane].lateRows += rows
	b.state[lane].lateBytes += bytes
}

func (b *laneBook) late() int      { return b.sum(func(s laneState) int { return s.lateRows }) }
func (b *laneBook) lateBytes() int { return b.sum(func(s laneState) int { return s.lateBytes }) }

func (b *laneBook) sum(of func(laneState) int) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	total := 0
	for _, s := range b.state {
		total += of(s)
	}
	return total
}

// suspect says that a row of the lane up to seq was refused for good, but that
// others shared its batch and were refused with it.
func (b *laneBook) suspect(lane int16, seq int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[lane].suspectTo = max(b.state[lane].suspectTo, seq)
}

// acquit ends the suspicion once the rows it was about are gone.
func (b *laneBook) acquit(lane int16) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state[lane].suspectTo = 0
}

func (b *laneBook) suspectedTo(lane int16) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state[lane].suspectTo
}

// nextSuspect returns one of the lanes that is under suspicion, every other time
// it is asked while there is one.
func (b *laneBook) nextSuspect(lanes []int16) (int16, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := slices.IndexFunc(lanes, func(lane int16) bool { return b.state[lane].suspectTo > 0 })
	if at < 0 {
		return 0, false
	}
	b.turn = !b.turn
	return lanes[at], b.turn
}

func (b *laneBook) withoutSuspects(lanes []int16) []int16 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(lanes, func(lane int16) bool { return b.state[lane].suspectTo > 0 })
}
