package relay

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/outbox"
)

const (
	// busyPoll and idlePoll are the shortest and the longest wait between two
	// looks that found nothing.
	busyPoll = time.Millisecond
	idlePoll = 20 * time.Millisecond
	// quietShare: the wait is this part of the quiet time so far. After an event
	// the next one is awaited closely, and a relay without work soon rests.
	quietShare = 8
	// hotRows: a lease of that many rows is a part of a backlog, and the next one
	// is taken without looking first.
	hotRows = stepRows / stepLanes
	// Between two tries while the database or the broker is in trouble.
	troubleMin = 50 * time.Millisecond
	troubleMax = time.Second
)

// pace decides when to look again.
type pace struct {
	found   time.Time // when a look last found work
	hot     bool      // the last lease was large, so there is more
	trouble *backoff.ExponentialBackOff
	last    string // the trouble that was logged last
}

func newPace() pace {
	trouble := backoff.NewExponentialBackOff()
	trouble.InitialInterval, trouble.MaxInterval = troubleMin, troubleMax
	return pace{trouble: trouble}
}

// wait is how long to wait after a look that found nothing.
func (p *pace) wait() time.Duration {
	return min(max(time.Since(p.found)/quietShare, busyPoll), idlePoll)
}

// awaitWork looks until there is work, or returns nil once ctx is done. The
// caller holds the turn.
func (r *Relay) awaitWork(ctx context.Context) *work {
	for ctx.Err() == nil {
		w, err := r.findWork(ctx)
		if w != nil {
			return w
		}
		wait := r.pace.wait()
		if err != nil && ctx.Err() == nil {
			r.say(err)
			wait = r.pace.trouble.NextBackOff()
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	return nil
}

// say logs a trouble once, and not at each look while it lasts.
func (r *Relay) say(err error) {
	if err.Error() == r.pace.last {
		return
	}
	r.pace.last = err.Error()
	r.log.Warn("events wait in the outbox", zap.Error(err))
}

// calm notes that there is no trouble.
func (r *Relay) calm() {
	r.pace.trouble.Reset()
	if r.pace.last != "" {
		r.pace.last = ""
		r.log.Info("events are published again")
	}
}

// findWork looks once. It returns nil when there is nothing to do, and locks
// lanes only when the broker takes events.
func (r *Relay) findWork(ctx context.Context) (*work, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWaitMax)
	defer cancel()
	lanes := r.lanes.free(time.Now())
	if !r.pace.hot {
		waiting, err := r.outbox.Waiting(ctx)
		if err != nil {
			return nil, err
		}
		lanes = slices.DeleteFunc(lanes, func(lane int16) bool { return !slices.Contains(waiting, lane) })
	}
	if len(lanes) == 0 {
		r.pace.hot = false
		return nil, nil
	}
	if err := r.gate.check(ctx); err != nil {
		return nil, err
	}
	r.calm()
	if err := r.topics.ask(ctx, r.client); err != nil {
		return nil, err
	}
	w, err := r.take(ctx, lanes)
	if w != nil {
		r.pace.found = time.Now()
	}
	r.pace.hot = w != nil && len(w.lease.Rows) >= hotRows
	return w, err
}

// take leases lanes: every other time one whose guilty row is being looked for.
func (r *Relay) take(ctx context.Context, lanes []int16) (*work, error) {
	limits := outbox.Limits{Lanes: stepLanes, Rows: stepRows, Bytes: stepBytes}
	suspect, alone := r.lanes.nextSuspect(lanes)
	if alone && r.becomeQuiet(ctx) {
		lanes, limits = []int16{suspect}, outbox.Limits{Lanes: 1, Rows: stepRows / stepLanes, Bytes: stepBytes}
	} else {
		alone = false
		lanes = r.lanes.withoutSuspects(lanes)
	}
	lease, err := r.outbox.Lease(ctx, lanes, limits)
	if lease == nil {
		if alone && err == nil {
			r.lanes.acquit(suspect)
		}
		return nil, err
	}
	return &work{lease, alone}, nil
}

// becomeQuiet waits until no record is on its way, and reports whether that came
// about. While the caller holds the turn no new ones follow.
func (r *Relay) becomeQuiet(ctx context.Context) bool {
	for r.flying.Load() > 0 {
		if r.lanes.late() > 0 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(busyPoll):
		}
	}
	return true
}
