package demo

import (
	"time"

	"github.com/payonce/payonce/internal/pspsim"
)

const (
	// providerTimeout is short, so that slow answers become unknown outcomes.
	providerTimeout = 700 * time.Millisecond
	// lease is as short as the timeout allows, so that the killed worker's
	// payments are soon taken over.
	lease = 3 * time.Second
)

// ordinaryFaults is a bad day at a provider whose callers wait for timeout.
func ordinaryFaults(timeout time.Duration) pspsim.Faults {
	return pspsim.Faults{Rates: pspsim.Rates{
		Decline: 0.03, Refuse: 0.005, CutBefore: 0.02, CutAfter: 0.02, Error5xx: 0.01, TooMany: 0.01,
		Pending: 0.02, PendingDecline: 0.2, PendingMS: 500,
		Slow: 0.005, SlowMS: int((2 * timeout).Milliseconds()),
		// A provider is not on our machine. It also means that a worker that is
		// killed has requests in flight.
		DelayMS: 30,
	}}
}
