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

// The breaker's settings, per provider account.
const (
	// breakerWindow is the time over which failures are counted, in buckets of
	// breakerBucket.
	breakerWindow = 10 * time.Second
	breakerBucket = time.Second
	// breakerMinimum requests must have been made in the window before a share of
	// failures means anything.
	breakerMinimum = 20
	// breakerFailureShare opens the breaker: when half of the answers are no
	// answers, more requests make more unknowns and nothing else.
	breakerFailureShare = 0.5
	// breakerRest is how long an open breaker sends nothing.
	breakerRest = 5 * time.Second
	// breakerProbes may be in flight while the breaker is half open.
	breakerProbes = 3
)

// gate is one provider account's bulkhead and breaker.
type gate struct {
	account   string
	connector provider.Connector
	slots     chan struct{} // one token for each request that may be in flight
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]
	askedAt   atomic.Int64 // when the provider was last asked who we are, in Unix nanoseconds
}

func newGate(account string, connector provider.Connector, slots int, log *zap.Logger) *gate {
	g := &gate{account: account, connector: connector, slots: make(chan struct{}, slots)}
	for range slots {
		g.slots <- struct{}{}
	}
	g.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: account, MaxRequests: breakerProbes, Interval: breakerWindow, BucketPeriod: breakerBucket, Timeout: breakerRest,
		ReadyToTrip: func(c gobreaker.Counts) bool {
			counted := c.Requests - c.TotalExclusions
			return counted >= breakerMinimum && float64(c.TotalFailures) >= breakerFailureShare*float64(counted)
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Warn("breaker changed", zap.String("provider_account", name), zap.Stringer("from", from), zap.Stringer("to", to))
		},
		IsExcluded: func(err error) bool { return errors.Is(err, errNotTheProvider) },
	})
	return g
}

// admit takes up to wanted slots without waiting and returns how many it got:
// none while the breaker is open or the account is not identified, and as many as it
// probes with while it is half open. The breaker is asked again for each request.
func (g *gate) admit(wanted int) int {
	if !g.identified() {
		return 0
	}
	switch g.breaker.State() {
	case gobreaker.StateOpen:
		return 0
	case gobreaker.StateHalfOpen:
		wanted = min(wanted, breakerProbes)
	case gobreaker.StateClosed:
	}
	for taken := range wanted {
		select {
		case <-g.slots:
		default:
			return taken
		}
	}
	return wanted
}

// release gives slots back.
func (g *gate) release(n int) {
	for range n {
		g.slots <- struct{}{}
	}
}

func (g *gate) open() bool { return g.breaker.State() == gobreaker.StateOpen }

// What the breaker is told about a request that brought no result.
var (
	errNoResult       = errors.New("the provider gave no result")
	errNotTheProvider = errors.New("the provider had no part in it")
)

// forBreaker says what an answer tells about the provider's health. A decline
// is a healthy answer. Our own deadline, our own fault and the provider's wish
// to be asked later say nothing about it.
func forBreaker(a provider.Answer) error {
	switch {
	case errors.Is(a.Err, provider.ErrStopDeadline), a.Reason == provider.ReasonInvalidOperation, a.Reason == provider.ReasonUnsupported:
		return errNotTheProvider
	case a.Verdict == payment.VerdictNotTaken, a.Reason == provider.ReasonTryLater:
		return errNotTheProvider
	case a.NotSent, a.Verdict == payment.VerdictUnclear:
		return errNoResult
	default:
		return nil
	}
}
