package provider

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/payonce/payonce/pkg/money"
)

// Capabilities is what a provider declares about itself. The strategy is derived
// from it, so a false declaration loses money: declare what the provider's
// documentation promises, not what was seen to work. The zero value can do
// nothing, which is the safe one.
type Capabilities struct {
	Key     Key
	Inquiry Inquiry
	// VoidByReference means that a charge can be voided by our reference,
	// whether the provider has seen it or not, and that a later arrival with
	// the reference is then refused.
	VoidByReference bool
	// Refunds and Voids mean that a charge that took place can be given back by its
	// id: what goes back is refunded where both are declared.
	Refunds bool
	Voids   bool
	// SettlementFile means that files list every captured charge, so that an
	// operation without inquiry can wait for one.
	SettlementFile bool
	// Prepares means that a charge needs an object at the provider first, so that
	// the connector is a Preparer, and that an attempt makes two calls.
	Prepares bool
	// NotTakenStatuses lists HTTP statuses (429, 503) that mean "not taken" when
	// the body is in the provider's own format.
	NotTakenStatuses []int
	// Currencies lists what can be charged. AnyCurrency stands for all of ISO
	// 4217; it exists for the simulated provider.
	Currencies  []money.Currency
	AnyCurrency bool
	// Exponents holds the provider's decimals where they differ from ISO 4217.
	Exponents map[money.Currency]int
	// Multiples holds what amounts in the provider's units must be divisible by,
	// where that is more than 1.
	Multiples map[money.Currency]int64
	// Timeout bounds one call, from the first byte to the end of the answer.
	Timeout time.Duration
}

// Key describes the provider's idempotency key.
type Key struct {
	Supported bool
	// Header carries the key; empty means a field of the body.
	Header string
	// LengthMax is in bytes.
	LengthMax int
	// Horizon is how long the provider keeps a key, from its first use. After
	// it the same key is a new charge.
	Horizon  time.Duration
	Replay   Replay
	Mismatch Mismatch
	// KeepsFailures means that declines and refusals are replayed too.
	KeepsFailures bool
	// Serialises means that two requests with one key are never worked on at the
	// same time: the second waits for the first and gets its answer, or is refused
	// with an error of its own that is no decline.
	Serialises bool
}

// Replay is what a provider answers to a repeated key.
type Replay int

// The kinds of replay.
const (
	ReplayUndeclared   Replay = iota
	ReplayFirstAnswer         // byte for byte what the first request got
	ReplayLatestStatus        // the movement as it stands now
	ReplayError               // an error that names the first request or not
)

// Mismatch is what a provider answers to a repeated key with another body.
type Mismatch int

// The kinds of mismatch.
const (
	MismatchUndeclared Mismatch = iota
	MismatchRefused             // an error of its own; no decline of the first
	MismatchIgnored             // the first answer, whatever the body: the echo check matters
)

// Inquiry describes asking by our reference.
type Inquiry struct {
	Supported bool
	// NotFoundAuthoritative means that "not found", asked Grace or more after
	// the last possible send, proves that nothing was taken.
	NotFoundAuthoritative bool
	// Grace covers the provider's own delays and, where it has no keys, also
	// bytes that our kernel still held when our process froze.
	Grace time.Duration
}

// keyLength is the length of our key, the text of a UUID.
const keyLength = 36

// Validate returns what contradicts itself or cannot work, or nil.
func (c Capabilities) Validate() error {
	return errors.Join(c.Key.validate(), c.Inquiry.validate(), c.validateMoney(), c.validateCalls())
}

func (k Key) validate() error {
	if !k.Supported {
		if k != (Key{}) {
			return errors.New("the key is described and not supported")
		}
		return nil
	}
	if k.Horizon <= 0 {
		return errors.New("a key needs the horizon for which the provider keeps it")
	}
	if k.LengthMax < keyLength {
		return fmt.Errorf("a key of at most %d bytes cannot hold an operation id (%d)", k.LengthMax, keyLength)
	}
	return nil
}

func (i Inquiry) validate() error {
	if !i.Supported && i != (Inquiry{}) {
		return errors.New("the inquiry is described and not supported")
	}
	if i.Grace < 0 {
		return errors.New("the inquiry's grace is negative")
	}
	if i.NotFoundAuthoritative && i.Grace == 0 {
		return errors.New("an authoritative not-found needs a grace: no provider sees a charge in the instant that it arrives")
	}
	return nil
}

func (c Capabilities) validateMoney() error {
	if c.AnyCurrency && len(c.Currencies) > 0 {
		return errors.New("any currency and a list of currencies are both declared")
	}
	for currency, exponent := range c.Exponents {
		if exponent < 0 || exponent > exponentMax {
			return fmt.Errorf("%s cannot have %d decimals", currency, exponent)
		}
	}
	for currency, multiple := range c.Multiples {
		if multiple <= 1 {
			return fmt.Errorf("%s cannot need multiples of %d", currency, multiple)
		}
	}
	return nil
}

func (c Capabilities) validateCalls() error {
	if c.Timeout <= 0 {
		return errors.New("a call needs a timeout")
	}
	for _, status := range c.NotTakenStatuses {
		// The other statuses come from proxies and from half-done work.
		if status != 429 && status != 503 {
			return fmt.Errorf("status %d cannot be declared to mean \"not taken\", only 429 and 503", status)
		}
	}
	return nil
}

// AttemptTimeout bounds all calls of one attempt.
func (c Capabilities) AttemptTimeout() time.Duration {
	if c.Prepares {
		return 2 * c.Timeout
	}
	return c.Timeout
}

func (c Capabilities) declaresNotTaken(status int) bool {
	return slices.Contains(c.NotTakenStatuses, status)
}

// Supports reports whether the provider charges in the currency.
func (c Capabilities) Supports(currency money.Currency) bool {
	return c.AnyCurrency || slices.Contains(c.Currencies, currency)
}

// ResendMarginMax and a tenth of the horizon bound how long before the horizon
// the last resend may leave. The margin covers the difference between the
// provider's clock and ours, and its clock starting at an arrival that we only
// know the earliest time of.
const ResendMarginMax = 5 * time.Minute

// ResendUntil returns the end of the time in which a resend with the same key is
// surely a repetition and not a new charge, counted from the first possible send.
// It is zero without keys or without a first send: never.
func (k Key) ResendUntil(firstPossibleSend time.Time) time.Time {
	if !k.Supported || firstPossibleSend.IsZero() {
		return time.Time{}
	}
	return firstPossibleSend.Add(k.Horizon - min(k.Horizon/10, ResendMarginMax))
}

// LaterDeclineCovers reports whether a parsed decline of a later send with the
// same key, within the horizon, also proves that an earlier send was not taken.
// The provider must handle a key's requests one after the other, and must keep
// failures: otherwise an earlier request that arrives late is a new try.
func (k Key) LaterDeclineCovers() bool { return k.Supported && k.Serialises && k.KeepsFailures }
