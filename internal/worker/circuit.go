package worker

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// The breaker's settings, per provider account and kind of operation.
const (
	// breakerWindow is the time over which failures are counted, in buckets of
	// breakerBucket.
	breakerWindow = 10 * time.Second
	breakerBucket = time.Second
	// breakerMinimum requests must have been made in the window before a share of
	// failures means anything. As many failures in a row need no share: after an hour
	// of good answers, half of the window would be a thousand failures.
	breakerMinimum = 20
	// breakerFailureShare opens the breaker: when half of the answers are no
	// answers, more requests make more unknowns and nothing else.
	breakerFailureShare = 0.5
	// breakerProbes in a row must be answered before an open breaker closes. If none of
	// as many requests is answered then, it opens again.
	breakerProbes = 3
)

// Pace is how fast a worker gives a provider up and comes back to it. The zero Pace
// is the default.
type Pace struct {
	// Rest is how long an open breaker asks nothing; default 5 s.
	Rest time.Duration
	// RampWindow must pass, mostly with answers, before the allowance after an outage
	// doubles; default 1 s.
	RampWindow time.Duration
}

const (
	restDefault       = 5 * time.Second
	rampWindowDefault = time.Second
)

func (p Pace) withDefaults() Pace {
	if p.Rest == 0 {
		p.Rest = restDefault
	}
	if p.RampWindow == 0 {
		p.RampWindow = rampWindowDefault
	}
	return p
}

// circuit decides about one kind of operation at one provider account: whether the
// provider is believed to answer, whether it asked for a pause, and how much it is
// given after either.
type circuit struct {
	gate    *gate
	kind    payment.Kind
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	behind  atomic.Bool // the last look at the due list may have left something
	probing atomic.Bool // a probe is under way
	mute    atomic.Bool // questions tell nothing, so requests are the probes

	failedRounds atomic.Int32 // of questions, since the breaker closed or requests were the probe

	// Under the gate's mutex.
	used  int // slots that it holds
	pause pause
	ramp  ramp
}

func newCircuit(g *gate, kind payment.Kind, c Config, log *zap.Logger) *circuit {
	made := &circuit{gate: g, kind: kind, ramp: ramp{slots: c.Slots, window: c.Pace.RampWindow}}
	made.mute.Store(!g.connector.Capabilities().Inquiry.Supported)
	made.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: g.account, MaxRequests: breakerProbes, Interval: breakerWindow, BucketPeriod: breakerBucket, Timeout: c.Pace.Rest,
		ReadyToTrip: made.readyToTrip,
		OnStateChange: func(account string, from, to gobreaker.State) {
			log.Warn("breaker changed", zap.String("provider_account", account), zap.String("kind", string(kind)),
				zap.Stringer("from", from), zap.Stringer("to", to))
			made.changed(to)
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNotTheProvider) },
	})
	return made
}

// readyToTrip is called under the breaker's own mutex.
func (c *circuit) readyToTrip(counts gobreaker.Counts) bool {
	if counts.ConsecutiveFailures >= breakerMinimum || (counts.ConsecutiveFailures >= breakerProbes && c.unproven()) {
		return true
	}
	counted := counts.Requests - counts.TotalExclusions
	return counted >= breakerMinimum && float64(counts.TotalFailures) >= breakerFailureShare*float64(counted)
}

// changed is called under the breaker's own mutex.
func (c *circuit) changed(to gobreaker.State) {
	if to == gobreaker.StateHalfOpen {
		return
	}
	inVain := c.failedRounds.Load() >= probeRounds
	c.mute.Store(inVain || !c.gate.connector.Capabilities().Inquiry.Supported)
	if inVain || to == gobreaker.StateClosed {
		c.failedRounds.Store(0)
	}
	if to == gobreaker.StateOpen {
		return
	}
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	c.ramp.begin(time.Now())
}

func (c *circuit) unproven() bool {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	return c.ramp.unproven()
}

// breakerLimit is none while the breaker is open, and none while it is half open and
// the provider can be asked something that moves nothing (see probe).
func (c *circuit) breakerLimit() (limit int, reason string) {
	switch state := c.breaker.State(); {
	case state == gobreaker.StateOpen, state == gobreaker.StateHalfOpen && !c.mute.Load():
		return 0, ReasonBreakerOpen
	case state == gobreaker.StateHalfOpen:
		return breakerProbes, ReasonBreakerOpen
	default:
		return c.ramp.slots, ReasonNoSlot
	}
}

// enter asks once more, right before a request: what was claimed a moment ago may
// meet a breaker that has opened since, or a provider that asked for a pause. It
// returns how to report what came of the request, or why none may be made.
func (c *circuit) enter() (report func(provider.Answer), refused string, err error) {
	if limit, reason := c.limit(time.Now()); limit == 0 {
		return nil, reason, errHeldBack
	}
	done, err := c.breaker.Allow()
	if err != nil {
		return nil, ReasonBreakerOpen, err
	}
	return func(a provider.Answer) {
		health := forBreaker(a)
		done(health)
		c.heard(a, health)
	}, "", nil
}

// heard lets pause and ramp know what came of a request.
func (c *circuit) heard(a provider.Answer, health error) {
	c.gate.mu.Lock()
	defer c.gate.mu.Unlock()
	now := time.Now()
	switch {
	case a.Reason == provider.ReasonTryLater:
		c.ramp.begin(c.pause.ask(now, a.RetryAfter))
	case health == nil:
		c.pause.answered(now)
		c.ramp.answered()
	case errors.Is(health, errNoResult):
		c.ramp.failed()
	}
}

// What the breaker is told about a request that brought no result.
var (
	errNoResult       = errors.New("the provider gave no result")
	errNotTheProvider = errors.New("the provider had no part in it")
	errHeldBack       = errors.New("the provider account takes no requests now")
)

// forBreaker says what an answer tells about the provider's health. A decline
// is a healthy answer. Our own deadline, our own fault and the provider's wish
// to be asked later say nothing about it.
func forBreaker(a provider.Answer) error {
	switch {
	case errors.Is(a.Err, provider.ErrStopDeadline), errors.Is(a.Err, errNotTheProvider),
		a.Reason == provider.ReasonInvalidOperation, a.Reason == provider.ReasonUnsupported:
		return errNotTheProvider
	case a.Verdict == payment.VerdictNotTaken, a.Reason == provider.ReasonTryLater:
		return errNotTheProvider
	case a.NotSent, a.Verdict == payment.VerdictUnclear:
		return errNoResult
	default:
		return nil
	}
}
