package matrix_test

import (
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/worker"
)

// The times of every cell, on the clocks that the test moves. They lie so far
// apart that a slow machine cannot carry one of them past the next.
const (
	callTimeout = time.Minute
	lease       = callTimeout + worker.SendAllowance + time.Second
	sendOver    = lease + worker.WireAllowance // from the claim to the last possible send
	grace       = 10 * time.Minute             // from there until "not found" counts
	pendingFor  = 10 * time.Minute
	inquiryLag  = 30 * time.Minute // of an inquiry whose "not found" proves nothing
	horizon     = 24 * time.Hour
	// shortHorizon is over before anyone may send again: the provider forgets the
	// key between two attempts.
	shortHorizon = lease
)

// world is a declaration and a provider.
type world struct {
	name     string
	declared provider.Capabilities
	truth    pspsim.Faults // how the provider really treats keys and inquiries
}

// worlds holds one representative of each row of provider.Next's table, and of
// each difference in what a provider's answers prove. A settlement file changes
// nothing yet, so it has no row of its own. The provider keeps its word in all.
func worlds() []world {
	key := provider.Key{
		Supported: true, Header: "Idempotency-Key", LengthMax: 255, Horizon: horizon,
		Replay: provider.ReplayFirstAnswer, Mismatch: provider.MismatchRefused, KeepsFailures: true, Serialises: true,
	}
	weak, short := key, key
	weak.KeepsFailures, weak.Serialises = false, false
	short.Horizon = shortHorizon
	vague := provider.Inquiry{Supported: true, Grace: grace}
	sure := provider.Inquiry{Supported: true, NotFoundAuthoritative: true, Grace: grace}
	return []world{
		honest("nothing", provider.Capabilities{}),
		honest("key", provider.Capabilities{Key: key}),
		honest("key, failures not kept", provider.Capabilities{Key: weak}),
		honest("key with a short horizon", provider.Capabilities{Key: short}),
		honest("inquiry vague", provider.Capabilities{Inquiry: vague}),
		honest("inquiry sure", provider.Capabilities{Inquiry: sure}),
		honest("inquiry sure, void", provider.Capabilities{Inquiry: sure, VoidByReference: true}),
		honest("key, inquiry vague", provider.Capabilities{Key: key, Inquiry: vague}),
		honest("key, inquiry sure", provider.Capabilities{Key: key, Inquiry: sure}),
		honest("key, inquiry sure, void", provider.Capabilities{Key: key, Inquiry: sure, VoidByReference: true}),
		honest("key with a short horizon, inquiry sure, void", provider.Capabilities{Key: short, Inquiry: sure, VoidByReference: true}),
	}
}

// honest completes a declaration with what is the same everywhere, and with a
// provider that does what it declares and no more.
func honest(name string, c provider.Capabilities) world {
	c.AnyCurrency, c.Timeout, c.NotTakenStatuses = true, callTimeout, []int{429}
	w := world{name: name, declared: c}
	w.truth.Rates.PendingMS = int(pendingFor.Milliseconds())
	w.truth.Scripts = []pspsim.Script{{PaymentMethod: tokenPendingDecline, Steps: manySteps("pending_decline")}}
	if c.Key.Supported {
		w.truth.Keys, w.truth.ForgetAfter = pspsim.KeysForgetAfter, pspsim.Duration(c.Key.Horizon)
	} else {
		w.truth.Keys = pspsim.KeysOff
	}
	switch {
	case !c.Inquiry.Supported:
		w.truth.Inquiry = pspsim.InquiryOff
	case !c.Inquiry.NotFoundAuthoritative:
		w.truth.Inquiry, w.truth.InquiryLag = pspsim.InquiryLagging, pspsim.Duration(inquiryLag)
	}
	return w
}

// manySteps is a step for more arrivals than any cell has.
func manySteps(text string) []pspsim.Step {
	step, err := pspsim.ParseStep(text)
	if err != nil {
		panic(err) // a step is written in this package
	}
	steps := make([]pspsim.Step, 100)
	for i := range steps {
		steps[i] = step
	}
	return steps
}

// closesLateArrivals reports whether a copy that comes later than any grace moves
// no money: the key makes it a repetition, or the closed door refuses it.
func (w world) closesLateArrivals() bool {
	return w.declared.VoidByReference || w.declared.Key.Horizon > muchLater
}

// settlesByNotFound reports whether "not found" can fail a payment here.
func (w world) settlesByNotFound() bool { return w.declared.Inquiry.NotFoundAuthoritative }
