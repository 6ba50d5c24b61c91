package worker

import (
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// gate is one provider account: the bulkhead that all requests to it share, and a
// circuit for each kind of operation.
type gate struct {
	account   string
	connector provider.Connector
	circuits  map[payment.Kind]*circuit
	askedAt   atomic.Int64 // when the provider was last asked who we are, in Unix nanoseconds

	mu   sync.Mutex // also of what its circuits remember; a breaker is never called under it
	free int        // slots that nobody holds
}

func newGate(account string, connector provider.Connector, c Config, log *zap.Logger) *gate {
	g := &gate{account: account, connector: connector, circuits: map[payment.Kind]*circuit{}, free: c.Slots}
	for _, kind := range payment.Kinds {
		g.circuits[kind] = newCircuit(g, kind, c, log)
	}
	return g
}

// admit takes up to wanted slots without waiting. It returns how many it got, and
// why the rest has to wait. The circuit is asked again before each request.
func (c *circuit) admit(wanted int) (admitted int, reason string) {
	limit, reason := c.limit(time.Now())
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	admitted = max(0, min(wanted, c.gate.free, limit-c.used))
	c.gate.free -= admitted
	c.used += admitted
	return admitted, reason
}

// admitNew is admit for what a message announces. It goes to the end of the line
// while anything waits: slots that come free one by one would otherwise always be
// taken by whoever came last, and what was parked in an outage would wait until the
// customers stop paying.
func (c *circuit) admitNew(wanted int) (admitted int, reason string) {
	if c.behind.Load() {
		_, reason = c.limit(time.Now())
		return 0, reason
	}
	return c.admit(wanted)
}

// limit is how many slots the circuit may hold now, and what keeps it from more.
func (c *circuit) limit(now time.Time) (limit int, reason string) {
	if !c.gate.identified() {
		return 0, ReasonNotIdentified
	}
	limit, reason = c.breakerLimit()
	if limit == 0 {
		return 0, reason
	}
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	if c.pause.holds(now) {
		return 0, ReasonRateLimited
	}
	return min(limit, c.ramp.limit(now)), reason
}

// admitDue takes slots for a look at the due list, and a share of them for each
// circuit that admits any. The shares may add up to more than the slots: whichever
// kind waits can have them. Short says that there were no slots for something.
func (g *gate) admitDue() (shares map[*circuit]int, slots int, short bool) {
	now := time.Now()
	limits := map[*circuit]int{}
	for _, c := range g.circuits {
		limits[c], _ = c.limit(now)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	shares = map[*circuit]int{}
	total := 0
	for c, limit := range limits {
		share := max(0, min(dueGroupMax, g.free, limit-c.used))
		if share == 0 {
			// Nobody looks whether something waits, so it is taken to: messages that still
			// found slots would keep it waiting.
			c.behind.Store(true)
			short = short || limit > 0
			continue
		}
		shares[c] = share
		c.used += share
		total += share
	}
	slots = min(dueGroupMax, g.free, total)
	g.free -= slots
	return shares, slots, short
}

// giveBack releases what a look took and did not launch.
func (g *gate) giveBack(shares map[*circuit]int, slots int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.free += slots
	for c, share := range shares {
		c.used -= share
	}
}

// release gives slots back.
func (c *circuit) release(n int) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.gate.free += n
	c.used -= n
}
