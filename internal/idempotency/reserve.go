package idempotency

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
)

// Entry is a request that wants its key. ResourceID names what the request
// creates when the key is fresh; no two requests share one.
type Entry struct {
	Scope
	Request    Canonical
	ResourceID uuid.UUID
}

// Record is what a key stands for.
type Record struct {
	ResourceID  uuid.UUID
	Fingerprint Fingerprint
	Fields      Fields
	Status      int    // 0 while the resource is open
	Body        []byte // nil while the resource is open
	ReservedAt  time.Time
}

// Answered reports whether the final answer is stored.
func (r Record) Answered() bool { return r.Status != 0 }

// Differences returns the names of the fields in which request is not the one
// that the key stands for, sorted; none when it is the same.
func (r Record) Differences(request Canonical) ([]string, error) {
	fingerprint, err := request.Fingerprint()
	if err != nil || fingerprint == r.Fingerprint {
		return nil, err
	}
	return Differences(r.Fields, request.stored()), nil
}

//go:embed reserve_keys.sql
var reserveKeysSQL string

//go:embed read_keys.sql
var readKeysSQL string

//go:embed release_keys.sql
var releaseKeysSQL string

// Reserve takes the key of each entry that is free and returns, in the order of
// the entries, what each key stands for. A record with the entry's own ResourceID
// was reserved just now, by this entry.
//
// It takes the first locks of a transaction. It waits for a transaction that
// holds one of the keys, at most as long as lock_timeout. Besides the database's
// errors it returns ErrKeyVanished.
func Reserve(ctx context.Context, tx pgx.Tx, entries []Entry) ([]Record, error) {
	columns, err := entryColumns(entries)
	if err != nil {
		return nil, err
	}
	var batch pgx.Batch
	var records []Record
	batch.Queue(reserveKeysSQL, columns...)
	batch.Queue(readKeysSQL, columns[:3]...).Query(func(rows pgx.Rows) error {
		records, err = pgx.CollectRows(rows, scanRecord)
		return err
	})
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("reserving idempotency keys: %w", err)
	}
	return records, allFound(records, entries)
}

// Read returns, in the order of the entries, what each key stands for. It returns
// ErrKeyVanished when one of them stands for nothing.
func Read(ctx context.Context, tx pgx.Tx, entries []Entry) ([]Record, error) {
	rows, err := tx.Query(ctx, readKeysSQL, scopeColumns(entries)...)
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	records, err := pgx.CollectRows(rows, scanRecord)
	if err != nil {
		return nil, fmt.Errorf("reading idempotency keys: %w", err)
	}
	return records, allFound(records, entries)
}

// LookUp returns, in the order of the entries, what each key stands for; nil where it
// stands for nothing. It writes nothing and waits for nobody: a key whose transaction
// has not committed yet stands for nothing.
func LookUp(ctx context.Context, tx pgx.Tx, entries []Entry) ([]*Record, error) {
	records := make([]*Record, len(entries))
	var batch pgx.Batch
	for i := range entries {
		batch.Queue(readKeysSQL, scopeColumns(entries[i:i+1])...).Query(func(rows pgx.Rows) error {
			found, err := pgx.CollectRows(rows, scanRecord)
			if len(found) > 0 {
				records[i] = &found[0]
			}
			return err
		})
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, fmt.Errorf("looking idempotency keys up: %w", err)
	}
	return records, nil
}

func allFound(records []Record, entries []Entry) error {
	if len(records) != len(entries) {
		return fmt.Errorf("%d of %d idempotency keys found: %w", len(records), len(entries), ErrKeyVanished)
	}
	return nil
}

// Release gives back keys that this transaction has reserved for requests which
// it refuses: a request that stored nothing leaves no key. A key that stands for
// anything else than the entry's ResourceID is left alone.
func Release(ctx context.Context, tx pgx.Tx, entries []Entry) error {
	columns := append(scopeColumns(entries), resources(entries))
	tag, err := tx.Exec(ctx, releaseKeysSQL, columns...)
	if err != nil {
		return fmt.Errorf("releasing idempotency keys: %w", err)
	}
	if tag.RowsAffected() != int64(len(entries)) {
		return fmt.Errorf("releasing idempotency keys: %d of %d were there", tag.RowsAffected(), len(entries))
	}
	return nil
}

func scanRecord(row pgx.CollectableRow) (Record, error) {
	var r Record
	var fingerprint []byte
	err := row.Scan(&r.ResourceID, &fingerprint, &r.Fields, &r.Status, &r.Body, &r.ReservedAt)
	copy(r.Fingerprint[:], fingerprint) // the table's check holds its length
	return r, err
}

// entryColumns are the arguments of reserve_keys.sql.
func entryColumns(entries []Entry) ([]any, error) {
	fingerprints, fields := make([][]byte, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		fingerprint, err := e.Request.Fingerprint()
		if err != nil {
			return nil, err
		}
		stored, err := json.Marshal(e.Request.stored())
		if err != nil {
			return nil, fmt.Errorf("rendering the fields of a request: %w", err)
		}
		fingerprints[i], fields[i] = fingerprint[:], string(stored)
	}
	return append(scopeColumns(entries), fingerprints, fields, resources(entries)), nil
}

func scopeColumns(entries []Entry) []any {
	return []any{
		postgres.Column(entries, func(e Entry) uuid.UUID { return e.MerchantID }),
		postgres.Column(entries, func(e Entry) string { return e.Route }),
		postgres.Column(entries, func(e Entry) string { return e.Key }),
	}
}

func resources(entries []Entry) []uuid.UUID {
	return postgres.Column(entries, func(e Entry) uuid.UUID { return e.ResourceID })
}
