package worker

import "time"

// The pauses after a provider said that it is asked too much.
const (
	// pauseMin is the first pause without a hint; each further one is twice as long,
	// up to pauseGrownMax, until the provider answers.
	pauseMin      = time.Second
	pauseGrownMax = 30 * time.Second
	// pauseMax bounds a hint. It holds up an account's every payment, and one request
	// too early costs nothing: it is not taken.
	pauseMax = 5 * time.Minute
)

// pause is the time for which a provider wants to be left alone. The zero pause
// holds nothing up. The caller serialises.
type pause struct {
	until time.Time
	grown time.Duration // the next pause without a hint
}

func (p *pause) holds(now time.Time) bool { return now.Before(p.until) }

// ask notes the provider's wish and returns until when it is kept. What was in
// flight as the pause began makes it longer by its own hint, and otherwise not: a
// hundred answers to one mistake are one mistake.
func (p *pause) ask(now time.Time, hint time.Duration) time.Time {
	if hint == 0 {
		if p.holds(now) {
			return p.until
		}
		hint = max(p.grown, pauseMin)
		p.grown = min(2*hint, pauseGrownMax)
	}
	if until := now.Add(min(hint, pauseMax)); until.After(p.until) {
		p.until = until
	}
	return p.until
}

// answered forgets how often the provider asked, unless the answer is older than
// the pause that holds.
func (p *pause) answered(now time.Time) {
	if !p.holds(now) {
		p.grown = 0
	}
}

// ramp gives a provider that came back little at first and twice as much after
// each window that the breaker would find healthy, so that everything that waited does
// not arrive at once. The zero allowance is no limit. The caller serialises.
type ramp struct {
	slots     int
	window    time.Duration
	allowance int
	since     time.Time // when the window began
	answers   int       // in the window
	failures  int       // in the window
	proven    bool      // a request has been answered since the ramp began
}

// begin starts at the bottom, from the given time on. What never changes is not written
// again: slots is read without the lock.
func (r *ramp) begin(at time.Time) {
	r.allowance, r.since = min(breakerProbes, r.slots), at
	r.answers, r.failures, r.proven = 0, 0, false
}

// limit is how many requests may be in flight. Windows follow each other only as it
// is asked: a provider that nobody asks proves nothing.
func (r *ramp) limit(now time.Time) int {
	if r.allowance == 0 {
		return r.slots
	}
	if now.Sub(r.since) < r.window {
		return r.allowance
	}
	if r.answers > 0 && float64(r.failures) < breakerFailureShare*float64(r.answers+r.failures) {
		r.allowance *= 2
	}
	r.since, r.answers, r.failures = now, 0, 0
	if r.allowance >= r.slots {
		r.allowance = 0
		return r.slots
	}
	return r.allowance
}

func (r *ramp) answered() { r.answers, r.proven = r.answers+1, true }
func (r *ramp) failed()   { r.failures++ }

// unproven reports whether the provider has answered questions only, since it was
// given up: some answer those and move no money.
func (r *ramp) unproven() bool { return r.allowance != 0 && !r.proven }
