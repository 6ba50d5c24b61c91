package provider

import "time"

// StopDeadline is the moment after which a sender must not hand another byte to
// the kernel. It is kept on two clocks, because each fails alone: the monotonic
// clock stands still while some machines sleep, and the wall clock can be set
// back. The earlier of the two counts. The zero StopDeadline has always passed.
type StopDeadline struct {
	monotonic time.Time // with the monotonic reading that the caller's time had
	wall      time.Time // without one
}

// NewStopDeadline returns the deadline at the given time. The time is meant to be
// derived from a time.Now() taken BEFORE the claim statement:
//
//	started := time.Now()
//	… claim, which grants a lease …
//	stop := NewStopDeadline(started.Add(lease))
//
// Counted from after the claim, a slow commit would let the sender go on beyond
// what takers of the lease wait for. A time without a monotonic reading is judged
// by the wall clock alone.
func NewStopDeadline(at time.Time) StopDeadline {
	if at.IsZero() {
		return StopDeadline{}
	}
	return StopDeadline{monotonic: at, wall: at.Round(0)}
}

// NotAfter returns the deadline brought forward to the wall-clock time at, such
// as a payment's chargeBefore or the end of a key's horizon. A zero at changes
// nothing, and a deadline never moves back.
func (d StopDeadline) NotAfter(at time.Time) StopDeadline {
	if !at.IsZero() && at.Round(0).Before(d.wall) {
		d.wall = at.Round(0)
	}
	return d
}

// Passed reports whether the deadline has come on either clock.
func (d StopDeadline) Passed(now time.Time) bool { return d.Remaining(now) <= 0 }

// Remaining returns the time left on the clock that has less of it, and zero or
// less once the deadline has come.
func (d StopDeadline) Remaining(now time.Time) time.Duration {
	return min(d.monotonic.Sub(now), d.wall.Sub(now.Round(0)))
}
