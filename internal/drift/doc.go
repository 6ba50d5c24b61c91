// Package drift holds our final operations against a provider's own list (U10).
//
//	provider's list ──page by page──> seen ──┬──> evidence, cases   what took place there and not here
//	our operations ───────────────────> seen └──> inquiry           what took place here and not there
//	                                         └──> finding           what no rule may settle
//
// Its promise: each difference becomes evidence, with the case that follows from it,
// or a finding for a person, and none is dropped: not by a process that dies, not by
// a window's border and not by a provider's clock that is an hour off. A movement
// that nobody here asked for is a difference too. The same window twice finds nothing
// new. Only questions are sent to the provider, a bounded number of them in a second.
//
// A scan is a row with a window, [from, to), a phase and a cursor. What a page says,
// and the cursor of the next one, are one transaction; the two sides are compared in
// SQL, so memory holds one page. A scanner leases a scan, and each of its steps is
// conditional on the version that it took. Windows follow each other without a gap.
package drift

import (
	"errors"
	"time"
)

const (
	// WindowMax bounds one window while a schedule catches up.
	WindowMax = 24 * time.Hour
	// ListingLag is how far a window stays behind the present: no provider lists a
	// movement in the instant that it takes place, and none declares by how much it
	// is late. Ten minutes are beyond what a lagging replica or a batch of minutes adds.
	ListingLag = 10 * time.Minute
	// ClockMargin is how much more of the list is read on both ends of a window. It
	// covers a provider's clock that is an hour off (a summer time), and the time
	// between our claim and the provider's own entry.
	ClockMargin = time.Hour + 15*time.Minute
	// ReadInterval is the pause before each request to the provider: ten reads a
	// second for an account are well below what providers allow (Stripe's test mode
	// allows 25), which payments need more than a scan does.
	ReadInterval = 100 * time.Millisecond
	// lease is how long a scan is one scanner's alone, counted from its last step.
	// It is above what one step may take: a request, and a group of outcomes.
	lease = 2 * time.Minute
	// compareMax operations are compared, and as many findings recalled, in one statement.
	compareMax = 1000
	// weighMax movements are weighed in one step.
	weighMax = 200
	// triesMax failures, each a pause apart, make a finding of what cannot be applied
	// or is not answered plainly. The scan goes on without it.
	triesMax = 5
	// errorPause keeps a scan from hammering a provider or a database that is down.
	errorPause = 30 * time.Second
	// pollInterval is how often a scanner looks for a scan that is due or was left.
	pollInterval = 15 * time.Second
)

// What a scan is refused with.
var (
	// ErrTaken says that another scanner works on this scan.
	ErrTaken = errors.New("another scanner works on this window")
	// ErrNoList says that the provider's connector lists nothing.
	ErrNoList = errors.New("this provider has no list of movements")
	// ErrTooRecent says that a window reaches into what may not be listed yet.
	ErrTooRecent = errors.New("the window ends less than " + ListingLag.String() + " ago: not everything of it may be listed yet")
	// ErrNoWindow says that a window has no length.
	ErrNoWindow = errors.New("the window ends before it begins")
	// ErrNoFinding says that there is no such finding, or that it is explained already.
	ErrNoFinding = errors.New("there is no such open finding")
)

// errNotAnswered ends a round: a provider that gives no plain answer to one question
// will hardly give one to the next.
var errNotAnswered = errors.New("the provider gave no plain answer")
