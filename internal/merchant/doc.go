// Package merchant owns merchants and their API keys.
//
//	Authorization: Bearer po_PREFIX_SECRET ──> Authenticate ──> Merchant
//
// A key is shown once, when it is made; the database keeps its public prefix and
// a hash of its secret. No error and no log line of this package holds a key. A
// revoked key stops working within CacheAge, in every process.
package merchant

import (
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// Merchant is who a request comes from.
type Merchant struct {
	ID   uuid.UUID
	Name string
	// ProviderAccount is where this merchant's payments are charged. It is copied
	// to each operation at accept.
	ProviderAccount string
	Settings
}

// Settings are what a merchant has of its own. The zero value changes nothing.
type Settings struct {
	// Limit is how fast its requests may come. Zero: as fast as the process allows
	// to everybody.
	Limit Limit
	// ChecksIdentifiers looks for card numbers in invoice ids, external references and
	// idempotency keys too, where other merchants may have numbers that look like one.
	ChecksIdentifiers bool
	// DerivesKeys takes requests without an Idempotency-Key, whose key is then derived
	// from the invoice: for clients that are too old to send one.
	DerivesKeys bool
}

// Limit bounds requests: PerSecond in the long run, and Burst at once.
type Limit struct{ PerSecond, Burst int }

// IsZero reports whether there is no limit.
func (l Limit) IsZero() bool { return l == Limit{} }

// String is for people.
func (l Limit) String() string {
	if l.IsZero() {
		return "default"
	}
	return fmt.Sprintf("%d/s, burst %d", l.PerSecond, l.Burst)
}

const (
	// CacheAge is how long a key that was looked up is believed without looking
	// again: a revocation takes effect within it. Shorter costs a read per
	// request, longer leaves a leaked key open.
	CacheAge = 5 * time.Second
	// CachedKeysMax bounds the cache, at about 200 bytes a key.
	CachedKeysMax = 10_000
	// StrangersPerSecond bounds how often keys that this process has not seen yet are
	// looked up: what a flood of guesses may cost the database, at
	// about a tenth of a millisecond each. Keys that it knows are not held up by it.
	StrangersPerSecond = 1000
	// StrangersBurst lets a process that begins learn its merchants' keys at once.
	StrangersBurst = 5000
	// LimitPerSecondMax keeps a typing mistake from being a limit.
	LimitPerSecondMax = 100_000
	// LimitBurstMax does so for bursts.
	LimitBurstMax = 1_000_000
	// LiveKeysMax is the old key and the new one while a merchant changes over.
	LiveKeysMax = 2
)

// Errors that callers branch on.
var (
	// ErrUnknownKey is returned for a key that is malformed, unknown, revoked or
	// has another secret; which of these it is is nobody's business.
	ErrUnknownKey = errors.New("the API key is not valid")
	// ErrTooManyStrangers is returned for a key that was not looked up, because too many
	// unknown keys are being tried. It says nothing about the key.
	ErrTooManyStrangers = errors.New("too many unknown API keys are being tried")
	// ErrUnknownMerchant is returned for an id that no merchant has.
	ErrUnknownMerchant = errors.New("there is no such merchant")
	// ErrInvalidLimit is returned for a limit that is out of bounds.
	ErrInvalidLimit = fmt.Errorf("a limit is 1 to %d requests a second, with a burst of 1 to %d", LimitPerSecondMax, LimitBurstMax)
	// ErrTooManyKeys is returned when a merchant has LiveKeysMax keys already.
	ErrTooManyKeys = errors.New("the merchant has two live API keys: revoke one first")
)
