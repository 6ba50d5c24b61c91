package kafkadoor

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/merchant"
)

// LookUpsMax is how many connections the door itself uses at once, at most.
const LookUpsMax = 2

// merchants are looked up again after merchant.CacheAge, as at the HTTP door. There
// are as many as topics of this process.
type merchants struct {
	pool  *pgxpool.Pool
	slots chan struct{} // one token per look-up
	mu    sync.Mutex
	seen  map[uuid.UUID]sighting
}

type sighting struct {
	merchant merchant.Merchant
	at       time.Time
}

func newMerchants(pool *pgxpool.Pool) *merchants {
	return &merchants{pool: pool, slots: make(chan struct{}, LookUpsMax), seen: map[uuid.UUID]sighting{}}
}

// find returns the merchant, or merchant.ErrUnknownMerchant.
func (m *merchants) find(ctx context.Context, id uuid.UUID) (merchant.Merchant, error) {
	m.mu.Lock()
	last, ok := m.seen[id]
	m.mu.Unlock()
	now := time.Now()
	if ok && now.Sub(last.at) < merchant.CacheAge {
		return last.merchant, nil
	}
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return merchant.Merchant{}, context.Cause(ctx)
	}
	found, err := merchant.Find(ctx, m.pool, id)
	if err != nil {
		return merchant.Merchant{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.seen[id] = sighting{merchant: found, at: now}
	return found, nil
}
