package merchant

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed list.sql
var listSQL string

//go:embed show.sql
var showSQL string

//go:embed show_keys.sql
var showKeysSQL string

//go:embed show_changes.sql
var showChangesSQL string

// What Show and List return at most.
const (
	PageMax  = 200 // merchants
	ShownMax = 50  // keys, and changes, of one merchant
)

// Listed is a merchant as people see it.
type Listed struct {
	Merchant
	LiveKeys  int
	CreatedAt time.Time
}

// Key is an API key without its secret.
type Key struct {
	Prefix    string
	CreatedAt time.Time
	RevokedAt *time.Time // nil while it is live
}

// Changed is something that a person did to a merchant.
type Changed struct {
	Change string
	Decision
	At time.Time
}

// Details is all about one merchant: its keys and changes, the newest first.
type Details struct {
	Listed
	Keys    []Key
	Changes []Changed
}

// List returns up to PageMax merchants in the order of their ids, which is by age,
// after the one that the page before ended with.
func List(ctx context.Context, pool *pgxpool.Pool, after uuid.UUID) ([]Listed, error) {
	rows, err := pool.Query(ctx, listSQL, after, PageMax)
	if err != nil {
		return nil, fmt.Errorf("listing merchants: %w", err)
	}
	page, err := pgx.CollectRows(rows, scanListed)
	if err != nil {
		return nil, fmt.Errorf("listing merchants: %w", err)
	}
	return page, nil
}

// Show returns all about one merchant, or ErrUnknownMerchant.
func Show(ctx context.Context, pool *pgxpool.Pool, id uuid.UUID) (Details, error) {
	var shown Details
	var batch pgx.Batch
	batch.Queue(showSQL, id).Query(func(rows pgx.Rows) (err error) {
		shown.Listed, err = pgx.CollectExactlyOneRow(rows, scanListed)
		return err
	})
	batch.Queue(showKeysSQL, id, ShownMax).Query(func(rows pgx.Rows) (err error) {
		shown.Keys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k Key, err error) {
			return k, row.Scan(&k.Prefix, &k.CreatedAt, &k.RevokedAt)
		})
		return err
	})
	batch.Queue(showChangesSQL, id, ShownMax).Query(func(rows pgx.Rows) (err error) {
		shown.Changes, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (c Changed, err error) {
			return c, row.Scan(&c.Change, &c.By, &c.Reason, &c.At)
		})
		return err
	})
	err := pool.SendBatch(ctx, &batch).Close()
	if errors.Is(err, pgx.ErrNoRows) {
		return Details{}, ErrUnknownMerchant
	}
	if err != nil {
		return Details{}, fmt.Errorf("showing merchant %s: %w", id, err)
	}
	return shown, nil
}

func scanListed(row pgx.CollectableRow) (l Listed, err error) {
	return l, row.Scan(&l.ID, &l.Name, &l.ProviderAccount, &l.Limit.PerSecond, &l.Limit.Burst, &l.ChecksIdentifiers,
		&l.DerivesKeys, &l.CreatedAt, &l.LiveKeys)
}
