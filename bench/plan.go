package main

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"
)

const (
	// repeatedShare of all requests are sent again under a key that was sent before.
	repeatedShare = 0.30
	// Of these, half go out in the same moment as the first one, while that is in
	// flight; the others follow soon, or when the payment is most likely final.
	atOnceShare, soonShare = 0.50, 0.25
	soonAfter, lateAfter   = 100 * time.Millisecond, 3 * time.Second
)

// shot is one request that is due at a time from the start.
type shot struct {
	at    time.Duration
	order int // of the payments; several shots may have one
}

// plan is all requests of a run, in the order in which they are due.
type plan struct {
	shots []shot
	keys  []string        // by order
	at    []time.Duration // of an order's first request
}

// newPlan spreads requests evenly over time, some of them repeats of earlier ones.
func newPlan(requests, rate int, seed uint64) *plan {
	random := rand.New(rand.NewPCG(seed, 0))
	p := &plan{}
	for i := range requests {
		at := time.Duration(i) * time.Second / time.Duration(rate)
		if random.Float64() < repeatedShare {
			if again, ok := p.repeat(at, random.Float64()); ok {
				p.shots = append(p.shots, again)
				continue
			}
		}
		p.shots = append(p.shots, shot{at, len(p.keys)})
		p.keys, p.at = append(p.keys, uuid.Must(uuid.NewV7()).String()), append(p.at, at)
	}
	// Repeats at once were due a moment before their place; the first stays first.
	slices.SortStableFunc(p.shots, func(a, b shot) int { return cmp.Compare(a.at, b.at) })
	return p
}

// repeat chooses what is sent again at a time; nothing when it would be too early
// for that.
func (p *plan) repeat(at time.Duration, chance float64) (shot, bool) {
	newest := len(p.at) - 1
	if newest < 0 {
		return shot{}, false
	}
	if chance < atOnceShare {
		return shot{p.at[newest], newest}, true
	}
	before := at - lateAfter
	if chance < atOnceShare+soonShare {
		before = at - soonAfter
	}
	for order := newest; order >= 0; order-- {
		if p.at[order] <= before {
			return shot{at, order}, true
		}
	}
	return shot{}, false
}

// body is the request of an order, the same at each repeat.
func (p *plan) body(order int) string {
	return fmt.Sprintf(`{"invoiceId":"INV-%s","paymentType":"order","amount":"%d.%02d","currency":"EUR","paymentMethod":"tok_ok",`+
		`"metadata":{"cart":"%d"}}`, p.keys[order], 10+order%90, order%100, order)
}
