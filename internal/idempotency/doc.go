// Package idempotency owns the clients' keys and the answers stored under them.
//
//	Idempotency-Key + request ──> Reserve ──> fresh, or what the key already stands for
//	outcome ──> StoreAnswers ──> the same bytes for every repeat
//	older than the window, and answered for a day ──> Sweeper ──> gone
//
// A key stands for one request of one merchant, on one route, for as long as it
// is kept: its window at least, and until what it stands for has been final for a day. A
// key that was not seen before is reserved in the same transaction that accepts the
// payment, so it is there if and only if that committed. Keys of other merchants are
// neither read nor waited for.
package idempotency

import (
	"errors"

	"github.com/google/uuid"
)

// KeyCharsMax bounds a key, after unquoting. It is the limit that clients know
// from other payment APIs, and keeps an index entry small.
const KeyCharsMax = 255

// Errors of ParseKey, and of Reserve.
var (
	ErrKeyMissing   = errors.New("the request has no Idempotency-Key header")
	ErrKeyRepeated  = errors.New("the request has more than one Idempotency-Key header")
	ErrKeyEmpty     = errors.New("the idempotency key is empty")
	ErrKeyTooLong   = errors.New("the idempotency key is longer than 255 characters")
	ErrKeyMalformed = errors.New("the idempotency key is malformed")
	ErrKeyQuoted    = errors.New("the idempotency key begins with a quote")
	// ErrKeyVanished is returned when a key conflicted with a stored one that was
	// gone a moment later. Roll back and try again.
	ErrKeyVanished = errors.New("a stored idempotency key vanished while it was being read")
)

// Scope is what a key is unique in, with the key. Route is the command's name
// ("payments"), without path parameters, the same for all doors.
type Scope struct {
	MerchantID uuid.UUID
	Route      string
	Key        string
}
