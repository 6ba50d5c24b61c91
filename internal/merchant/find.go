package merchant

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed find.sql
var findSQL string

// Querier is a transaction or a pool.
type Querier interface {
	QueryRow(ctx context.Context, sql string, arguments ...any) pgx.Row
}

// Find returns the merchant with this id, for doors whose callers are known by
// something else than an API key. It returns ErrUnknownMerchant.
func Find(ctx context.Context, db Querier, id uuid.UUID) (Merchant, error) {
	m := Merchant{ID: id}
	err := db.QueryRow(ctx, findSQL, id).Scan(&m.Name, &m.ProviderAccount,
		&m.Limit.PerSecond, &m.Limit.Burst, &m.ChecksIdentifiers, &m.DerivesKeys)
	if errors.Is(err, pgx.ErrNoRows) {
		return Merchant{}, ErrUnknownMerchant
	}
	if err != nil {
		return Merchant{}, fmt.Errorf("looking up merchant %s: %w", id, err)
	}
	return m, nil
}
