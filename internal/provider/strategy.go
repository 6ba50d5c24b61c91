package provider

import "time"

// Situation is what is known about an operation in state unknown. All times are
// of the database's clock.
type Situation struct {
	Now time.Time
	// FirstPossibleSend is when the first attempt was claimed: the provider's
	// key may exist since then.
	FirstPossibleSend time.Time
	// LastPossibleSend is the end of the last lease of all attempts, plus the
	// allowance. Zero means that it is not known, and then nothing is concluded.
	LastPossibleSend time.Time
	// NotFoundAskedAt is when the latest inquiry that found nothing was asked;
	// zero without one.
	NotFoundAskedAt time.Time
	// DoorClosed means that the provider refuses our reference from now on.
	DoorClosed bool
	// ChargeBefore is the last moment at which the payment may be sent; zero
	// without one.
	ChargeBefore time.Time
}

// Step is what to do next about an unknown operation.
type Step int

// The steps. The zero value does nothing.
const (
	// StepWait leaves it to the settlement file or to a person.
	StepWait Step = iota
	// StepInquire asks the provider by our reference.
	StepInquire
	// StepResend orders a resend with the same key, which the worker makes.
	StepResend
	// StepCloseDoor voids by our reference.
	StepCloseDoor
	// StepSettleNotTaken: every send is covered, and the door is closed or has no
	// lock. The operation fails.
	StepSettleNotTaken
)

var stepNames = [...]string{"wait", "inquire", "resend", "close-door", "settle-not-taken"}

// String returns the step's name, as tools print it.
func (s Step) String() string {
	if s < 0 || int(s) >= len(stepNames) {
		return stepNames[StepWait]
	}
	return stepNames[s]
}

// Next derives the next step from what the provider declares and what is known.
// It is the whole strategy: no connector and no configuration adds a rule.
//
// A resend needs a key in its horizon, is preferred to failing, and never comes
// while our own last send may still be on its way. "Not taken" needs a provider
// whose "not found" is authoritative, asked after the grace, and a closed door
// where there is one.
func Next(c Capabilities, s Situation) Step {
	if !c.Inquiry.Supported {
		if s.mayResend(c.Key) {
			return StepResend
		}
		return StepWait
	}
	if !s.notFoundCounts(c.Inquiry) {
		return StepInquire
	}
	if s.mayResend(c.Key) {
		return StepResend
	}
	if !c.Inquiry.NotFoundAuthoritative {
		return StepInquire
	}
	if c.VoidByReference && !s.DoorClosed {
		return StepCloseDoor
	}
	return StepSettleNotTaken
}

// notFoundCounts reports whether the latest "not found" was asked late enough to
// speak about every send. An earlier one was read while our own call was still in
// flight, or before the latest resend.
func (s Situation) notFoundCounts(i Inquiry) bool {
	if s.LastPossibleSend.IsZero() || s.NotFoundAskedAt.IsZero() {
		return false
	}
	return !s.NotFoundAskedAt.Before(s.LastPossibleSend.Add(i.Grace))
}

// mayResend reports whether a send with the same key is a repetition at the
// provider, and still wanted.
func (s Situation) mayResend(k Key) bool {
	switch {
	case s.DoorClosed: // it would be refused, or replay a charge that has been voided since
		return false
	case s.LastPossibleSend.IsZero() || s.Now.Before(s.LastPossibleSend):
		return false
	case !s.ChargeBefore.IsZero() && !s.Now.Before(s.ChargeBefore):
		return false
	}
	return s.Now.Before(k.ResendUntil(s.FirstPossibleSend))
}
