package outbox

import (
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// horizon remembers up to which seq each lane holds nothing any more and never
// will, so that a read need not walk over the dead rows at the lane's head. That
// matters while an old snapshot keeps VACUUM from taking them away.
//
// Which rows may a cursor pass? Seen: an accept is held open with seq 5, its lane
// is drained past it up to 9, the accept commits, its payment's cancel gets seq
// 10; a cursor at 9 publishes the cancel and never the accept. So a cursor may
// pass seq 9 only when everyone who drew a seq up to 9 has ended.
//
// The transaction id of row 9's writer does not tell. A transaction takes its id
// with its first write and draws a seq later: writer 100 takes its id, writer 101
// takes its id, 101 draws 5 and stays open, 100 draws 9 and commits. 100 is older
// than everything that runs, and still 5 is to come. What does tell: whoever drew
// a seq below one that we have seen had its transaction id by then (append.sql),
// so its id is below every id that is given out later, such as the next one of
// our own. Once all ids below that one have ended, all rows up to the seq that we
// had seen are there to be read.
//
// One transaction that is held open, somewhere in the database, would stop that.
// So when nothing was settled for a while, those that have written to the outbox
// are looked at one by one (writers.sql): once all that had by then are gone, all
// rows up to the seq that we had seen by then are there to be read.
//
// All of it is memory of one process and can be forgotten at any time; a scan
// then starts at the lane's head.
type horizon struct {
	mu         sync.Mutex
	generation int    // counts how often everything was forgotten
	seen       int64  // highest seq that a read returned
	newest     uint64 // highest transaction id that we were given
	settled    int64  // all rows up to this seq were there to be read
	first      checkpoint
	last       checkpoint // newer than first; takes its place when that is reached
	roll       roll
	asked      time.Time // when writers were last asked for, or need not be
	cursors    [Lanes]int64
}

// askAfter is how long nothing may be settled before writers are asked for, and
// how often they are. Meanwhile reads walk over what was removed in that time.
const askAfter = 100 * time.Millisecond

// roll says that all rows up to seq can be read once the writers have ended. The
// zero value is no roll.
type roll struct {
	seq     int64
	writers []string // virtual transaction ids
}

// checkpoint says that all rows up to seq can be read once every transaction
// below xid has ended. The zero value is no checkpoint.
type checkpoint struct {
	seq int64
	xid uint64
}

// mark is what was known before a look at the database. Only that may be used
// with what the look found: another one may have learned more meanwhile, from a
// snapshot that is newer than ours.
type mark struct {
	generation int
	seen       int64
	newest     uint64
	settled    int64
	cursors    []int64
}

func (h *horizon) mark() mark {
	h.mu.Lock()
	defer h.mu.Unlock()
	cursors := h.cursors
	return mark{h.generation, h.seen, h.newest, h.settled, cursors[:]}
}

// observe takes what a look saw: oldest is the oldest transaction id that was
// running, own the one that our transaction took, 0 for none.
func (h *horizon) observe(m mark, oldest, own uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.generation != h.generation {
		return
	}
	if own != 0 && own <= m.newest {
		// Ids went back: this is another database, a restored one or a replica that
		// was promoted too early. What we know about seqs is about the old one.
		h.forgetLocked()
		return
	}
	h.newest = max(h.newest, own)
	h.reach(oldest)
	if own != 0 && m.seen > h.settled {
		h.last = checkpoint{m.seen, own}
		if h.first == (checkpoint{}) {
			h.first, h.last = h.last, checkpoint{}
		}
	}
}

// reach settles what the end of all transactions below oldest proves.
func (h *horizon) reach(oldest uint64) {
	if h.first.xid == 0 {
		h.asked = time.Now() // nothing is waited for
	}
	for h.first.xid != 0 && h.first.xid <= oldest {
		h.settled = max(h.settled, h.first.seq)
		h.first, h.last = h.last, checkpoint{}
		h.asked = time.Now()
	}
}

// overdue reports whether it is time to ask for writers.
func (h *horizon) overdue() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.first.xid == 0 || time.Since(h.asked) < askAfter {
		return false
	}
	h.asked = time.Now()
	return true
}

// open takes which transactions have written to the outbox and not ended.
func (h *horizon) open(m mark, writers []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.generation != h.generation {
		return
	}
	// A transaction that is prepared for two-phase commit goes on under another
	// id, which begins with -1. It may be one of the roll.
	h.roll.writers = slices.DeleteFunc(h.roll.writers, func(w string) bool { return !slices.Contains(writers, w) })
	prepared := slices.ContainsFunc(writers, func(w string) bool { return strings.HasPrefix(w, "-1/") })
	if len(h.roll.writers) > 0 || prepared {
		return
	}
	h.settled = max(h.settled, h.roll.seq)
	h.roll = roll{m.seen, writers}
}

// read takes the highest seq that a look returned.
func (h *horizon) read(m mark, seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.generation == h.generation {
		h.seen = max(h.seen, seq)
	}
}

// everything, as a seq, says that a look found no row in the lane.
const everything = math.MaxInt64

// emptied takes that a look, begun at m, found the lane's rows up to seq and that
// they are removed.
func (h *horizon) emptied(m mark, lane int16, seq int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m.generation == h.generation {
		h.cursors[lane] = max(h.cursors[lane], min(seq, m.settled))
	}
}

// forget starts anew. Called whenever a session was lost: the next one may lead
// to another database.
func (h *horizon) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forgetLocked()
}

func (h *horizon) forgetLocked() {
	h.generation++
	h.seen, h.newest, h.settled = 0, 0, 0
	h.first, h.last, h.roll = checkpoint{}, checkpoint{}, roll{}
	h.cursors = [Lanes]int64{}
}
