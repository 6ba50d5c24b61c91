package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/payonce/payonce/internal/kafka"
)

const (
	// proofAge is how long an acknowledgement or an answer proves that the broker
	// is there. After a quiet time it is asked before lanes are locked.
	proofAge = time.Second
	// probeWait bounds that question.
	probeWait = 2 * time.Second
	// lateBytesMax bounds what is left with the client by steps that gave up
	// waiting, beside what the steps themselves hold.
	lateBytesMax = Steps * stepBytes
)

// gate lets steps begin only while the broker takes events, so that during an
// outage no lane is locked and no transaction is open.
type gate struct {
	relay  *Relay
	mu     sync.Mutex
	proven time.Time // when the broker last acknowledged or answered
	acked  time.Time // when it last acknowledged
	stuck  time.Time // when a step gave up without any acknowledgement; zero: did not happen
}

// acknowledged notes that the broker takes events.
func (g *gate) acknowledged() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.acked = time.Now()
	g.proven = g.acked
}

// gaveUp notes that a step that began at the given time waited in vain.
func (g *gate) gaveUp(began time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.acked.Before(began) {
		g.stuck = time.Now()
	}
	g.proven = time.Time{}
}

// doubt makes the next look ask the broker first.
func (g *gate) doubt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.proven = time.Time{}
}

// check returns why no step may begin.
//
// An answer to a question does not prove that events are taken: with too few
// replicas in sync the broker answers and refuses to write. So after a step that
// waited in vain, the records it left with the client are the probe.
func (g *gate) check(ctx context.Context) error {
	late, lateBytes := g.relay.lanes.late(), g.relay.lanes.lateBytes()
	g.mu.Lock()
	stuck := !g.stuck.IsZero() && !g.acked.After(g.stuck) && late > 0
	if !stuck {
		g.stuck = time.Time{}
	}
	proven := time.Since(g.proven) < proofAge
	g.mu.Unlock()
	switch {
	case stuck || lateBytes > lateBytesMax:
		return errLate
	case proven:
		return nil
	default:
		return g.probe(ctx)
	}
}

func (g *gate) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	missing, err := kafka.MissingTopics(ctx, g.relay.client, g.relay.topics.required...)
	if err != nil {
		return fmt.Errorf("the broker does not answer: %w", err)
	}
	if len(missing) > 0 {
		return fmt.Errorf("topics are missing; run `payctl topics create`: %s", strings.Join(missing, ", "))
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.proven = time.Now()
	return nil
}
