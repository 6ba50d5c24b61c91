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
}

const (
	// CacheAge is how long a key that was looked up is believed without looking
	// again: a revocation takes effect within it. Shorter costs a read per
	// request, longer leaves a leaked key open.
	CacheAge = 5 * time.Second
	// CachedKeysMax bounds the cache, at about 200 bytes a key.
	CachedKeysMax = 10_000
	// LiveKeysMax is the old key and the new one while a merchant changes over.
	LiveKeysMax = 2
)

// Errors that callers branch on.
var (
	// ErrUnknownKey is returned for a key that is malformed, unknown, revoked or
	// has another secret; which of these it is is nobody's business.
	ErrUnknownKey = errors.New("the API key is not valid")
	// ErrUnknownMerchant is returned for an id that no merchant has.
	ErrUnknownMerchant = errors.New("there is no such merchant")
	// ErrTooManyKeys is returned when a merchant has LiveKeysMax keys already.
	ErrTooManyKeys = errors.New("the merchant has two live API keys: revoke one first")
)
