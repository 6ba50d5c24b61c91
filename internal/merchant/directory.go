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
)

//go:embed find_key.sql
var findKeySQL string

// Directory finds the merchant behind an API key. It is safe for concurrent use.
type Directory struct {
	pool *pgxpool.Pool
	// The library's expirable variant starts a goroutine that nothing can end, so
	// the entries carry their own age.
	cache *lru.Cache[string, entry]
	now   func() time.Time
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
	return &Directory{pool: pool, cache: cache, now: time.Now}
}

// Authenticate returns the merchant that an API key belongs to. It returns
// ErrUnknownKey, or the database's error when a key had to be looked up and could
// not be: that says nothing about the key.
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

// find returns the zero entry for an unknown prefix, which is not remembered:
// guesses must not push real keys out of the cache.
func (d *Directory) find(ctx context.Context, prefix string) (entry, error) {
	// Taken before the read: what was revoked after this moment is not believed
	// longer than CacheAge from it.
	now := d.now()
	if known, ok := d.cache.Get(prefix); ok && now.Sub(known.readAt) < CacheAge {
		return known, nil
	}
	known := entry{readAt: now}
	var hash []byte
	err := d.pool.QueryRow(ctx, findKeySQL, prefix).
		Scan(&hash, &known.merchant.ID, &known.merchant.Name, &known.merchant.ProviderAccount)
	if errors.Is(err, pgx.ErrNoRows) {
		d.cache.Remove(prefix)
		return entry{}, nil
	}
	if err != nil {
		return entry{}, fmt.Errorf("looking up an API key: %w", err)
	}
	copy(known.hash[:], hash) // the table's check holds its length
	d.cache.Add(prefix, known)
	return known, nil
}
