package pspsim

import (
	"encoding/binary"
	"hash/fnv"
	"net/http"
	"time"
)

// everyReference is the script that matches what no other does.
const everyReference = "*"

// tokens are payment methods that behave alike at every arrival, for tests by
// hand and with curl.
var tokens = map[string]outcome{
	"tok_decline": outcomeDecline, "tok_refuse": outcomeRefuse, "tok_pending": outcomePending,
}

// planner decides what happens to each request. It is immutable; PUT /faults
// puts a new one in its place.
type planner struct {
	faults      Faults
	seed        uint64
	byReference map[string][]Step
	byMethod    map[string][]Step
}

func newPlanner(f Faults, seed uint64) *planner {
	p := &planner{faults: f, seed: seed, byReference: map[string][]Step{}, byMethod: map[string][]Step{}}
	for _, script := range f.Scripts {
		if script.Reference != "" {
			p.byReference[script.Reference] = script.Steps
		} else {
			p.byMethod[script.PaymentMethod] = script.Steps
		}
	}
	return p
}

// plan decides about one arrival of a reference. Arrivals count from 1.
func (p *planner) plan(reference, method string, arrival int) Step {
	if steps := p.script(reference, method); arrival <= len(steps) {
		return steps[arrival-1]
	}
	step := p.draw(reference, arrival)
	if fixed, ok := tokens[method]; ok {
		step.outcome = fixed
	}
	return step
}

func (p *planner) script(reference, method string) []Step {
	if steps, ok := p.byReference[reference]; ok {
		return steps
	}
	if steps, ok := p.byMethod[method]; ok {
		return steps
	}
	return p.byReference[everyReference]
}

// draw applies the rates. Each question has a chance of its own, so that changing
// one rate does not reshuffle the answers to the others.
func (p *planner) draw(reference string, arrival int) Step {
	r, chance := p.faults.Rates, p.chance(reference, arrival)
	step := Step{delayBefore: milliseconds(r.DelayMS, 0)}
	if chance("slow") < r.Slow {
		delay := milliseconds(r.SlowMS, slowDefault)
		if chance("slow after") < 0.5 {
			step.delayAfter = delay
		} else {
			step.delayBefore += delay
		}
	}
	if chance("decline") < r.Decline {
		step.outcome = outcomeDecline
	} else if chance("pending") < r.Pending {
		step.outcome = outcomePending
		if chance("pending decline") < r.PendingDecline {
			step.outcome = outcomePendingDecline
		}
	}
	if refuse, f := r.drawFault(chance("fault"), chance("half") < 0.5); refuse {
		step.outcome = outcomeRefuse
	} else {
		step.fault = f
	}
	step.page = pages[int(chance("page")*float64(len(pages)))]
	return step
}

// pages are what gateways answer in a provider's place.
var pages = [...]int{http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// drawFault divides one chance among the faults that exclude each other. Of some
// faults there are two kinds, half and half.
func (r Rates) drawFault(u float64, half bool) (refuse bool, f fault) {
	cutAfter, error5xx := faultCutAfter, fault5xxBefore
	if half {
		cutAfter, error5xx = faultCutInside, fault5xxAfter
	}
	for _, share := range []struct {
		rate   float64
		refuse bool
		fault  fault
	}{
		{r.Refuse, true, faultNone},
		{r.CutBefore, false, faultCutBefore},
		{r.CutAfter, false, cutAfter},
		{r.Error5xx, false, error5xx},
		{r.TooMany, false, faultTooMany},
	} {
		if u < share.rate {
			return share.refuse, share.fault
		}
		u -= share.rate
	}
	return false, faultNone
}

// chance returns numbers in [0, 1) that depend on nothing but seed, reference,
// arrival and question.
func (p *planner) chance(reference string, arrival int) func(question string) float64 {
	return func(question string) float64 {
		h := fnv.New64a()
		var fixed [16]byte
		binary.LittleEndian.PutUint64(fixed[:8], p.seed)
		binary.LittleEndian.PutUint64(fixed[8:], uint64(arrival)) //nolint:gosec // arrivals count from 1
		_, _ = h.Write(fixed[:])
		_, _ = h.Write([]byte(reference))
		_, _ = h.Write([]byte{0})
		_, _ = h.Write([]byte(question))
		return float64(mix(h.Sum64())>>11) / (1 << 53)
	}
}

// mix is the finaliser of splitmix64: FNV alone leaves the high bits of similar
// texts similar.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// pendingFor is how long a pending movement stays so.
func (p *planner) pendingFor() time.Duration {
	return milliseconds(p.faults.Rates.PendingMS, pendingDefault)
}
