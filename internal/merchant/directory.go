package merchant

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"
)

//go:embed find_key.sql
var findKeySQL string

// Directory finds the merchant behind an API key. It is safe for concurrent use.
type Directory struct {
	pool *pgxpool.Pool
	// The library's expirable variant starts a goroutine that nothing can end, so
	// the entries carry their own age.
	cache *lru.Cache[string, entry]
	// unknown remembers since when a prefix was looked for in vain, apart from the keys:
	// guesses must not push real ones out.
	unknown   *lru.Cache[string, time.Time]
	strangers *rate.Limiter
	now       func() time.Time
}

// entry is a live key as it was at readAt.
type entry struct {
	hash     [sha256.Size]byte
	merchant Merchant
	readAt   time.Time
}

// NewDirectory returns a directory with an empty cache.
func NewDirectory(pool *pgxpool.Pool) *Directory {
	cache, err := lru.New[string, entry](CachedKeysMax)
	if err != nil {
		panic(err) // only for a size that is not positive
	}
	unknown, err := lru.New[string, time.Time](CachedKeysMax)
	if err != nil {
		panic(err) // as above
	}
	return &Directory{
		pool: pool, cache: cache, unknown: unknown, strangers: rate.NewLimiter(StrangersPerSecond, StrangersBurst), now: time.Now,
	}
}

// Authenticate returns the merchant that an API key belongs to. It returns
// ErrUnknownKey, or ErrTooManyStrangers or the database's error when a key had to be
// looked up and was not: that says nothing about the key.
//
// Secrets are compared by their hashes in constant time, and an unknown key costs
// the same comparison as a known one.
func (d *Directory) Authenticate(ctx context.Context, text string) (Merchant, error) {
	key, wellFormed := parseKey(text)
	if !wellFormed {
		return Merchant{}, ErrUnknownKey
	}
	known, err := d.find(ctx, key.prefix)
	if err != nil {
		return Merchant{}, err
	}
	// An unknown key has the zero Merchant and a hash that no secret is known for.
	same := subtle.ConstantTimeCompare(known.hash[:], key.hash[:]) == 1
	if !same || known.readAt.IsZero() {
		return Merchant{}, ErrUnknownKey
	}
	return known.merchant, nil
}

// find returns the zero entry for an unknown prefix.
func (d *Directory) find(ctx context.Context, prefix string) (entry, error) {
	// Taken before the read: what was revoked after this moment is not believed
	// longer than CacheAge from it.
	now := d.now()
	known, seen := d.cache.Get(prefix)
	if seen && now.Sub(known.readAt) < CacheAge {
		return known, nil
	}
	if since, ok := d.unknown.Get(prefix); ok && now.Sub(since) < CacheAge {
		return entry{}, nil
	}
	// A key that was good a moment ago is always looked up again: how often is bounded
	// by the number of keys, and a flood of guesses must not lock merchants out.
	if !seen && !d.strangers.AllowN(now, 1) {
		return entry{}, ErrTooManyStrangers
	}
	return d.lookUp(ctx, prefix, now)
}

func (d *Directory) lookUp(ctx context.Context, prefix string, now time.Time) (entry, error) {
	known := entry{readAt: now}
	m := &known.merchant
	var hash []byte
	err := d.pool.QueryRow(ctx, findKeySQL, prefix).Scan(&hash, &m.ID, &m.Name, &m.ProviderAccount,
		&m.Limit.PerSecond, &m.Limit.Burst, &m.ChecksIdentifiers, &m.DerivesKeys)
	if errors.Is(err, pgx.ErrNoRows) {
		d.cache.Remove(prefix)
		d.unknown.Add(prefix, now)
		return entry{}, nil
	}
	if err != nil {
		return entry{}, fmt.Errorf("looking up an API key: %w", err)
	}
	copy(known.hash[:], hash) // the table's check holds its length
	d.cache.Add(prefix, known)
	return known, nil
}
