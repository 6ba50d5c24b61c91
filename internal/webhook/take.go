package webhook

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payonce/payonce/internal/postgres"
)

//go:embed take.sql
var takeSQL string

//go:embed put_back.sql
var putBackSQL string

//go:embed finish.sql
var finishSQL string

//go:embed forget.sql
var forgetSQL string

//go:embed forget_conflicts.sql
var forgetConflictsSQL string

// Querier is a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Take takes at most limit events of the account that are due, those that have
// waited longest first, and puts each off by lease, within which the caller should
// be done with it. No other caller gets them meanwhile.
func Take(ctx context.Context, q Querier, account string, limit int, lease time.Duration) ([]Event, error) {
	rows, err := q.Query(ctx, takeSQL, account, limit, lease)
	if err != nil {
		return nil, fmt.Errorf("taking webhooks of %s: %w", account, err)
	}
	events, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Event, error) {
		e := Event{Account: account}
		err := row.Scan(&e.ID, &e.EventID, &e.Type, &e.Body, &e.ReceivedAt, &e.TakenAt, &e.Tries)
		return e, err
	})
	if err != nil {
		return nil, fmt.Errorf("taking webhooks of %s: %w", account, err)
	}
	return events, nil
}

// PutBack lets the event be taken again after a while. It reports false when somebody
// else has taken it since.
func (e Event) PutBack(ctx context.Context, q Querier, after time.Duration, reason string) (bool, error) {
	tag, err := q.Exec(ctx, putBackSQL, e.ID, e.Tries, after, reason)
	if err != nil {
		return false, fmt.Errorf("putting webhook %s back: %w", e.ID, err)
	}
	return tag.RowsAffected() == 1, nil
}

// Finished says what has become of an event.
type Finished struct {
	Event       Event
	State       State
	Reason      string
	OperationID uuid.UUID // Nil where it is about none that it may speak of
}

// Finish locks the events and writes what has become of them, in the transaction
// that holds what follows from it. It returns the ids that it wrote: an event that
// somebody else has taken since is not among them, and nothing may follow from it.
func Finish(ctx context.Context, tx pgx.Tx, finished []Finished) (map[uuid.UUID]bool, error) {
	rows, err := tx.Query(ctx, finishSQL,
		postgres.Column(finished, func(f Finished) uuid.UUID { return f.Event.ID }),
		postgres.Column(finished, func(f Finished) int { return f.Event.Tries }),
		postgres.Column(finished, func(f Finished) string { return string(f.State) }),
		postgres.Column(finished, func(f Finished) *string { return postgres.Given(f.Reason) }),
		postgres.Column(finished, func(f Finished) *uuid.UUID { return postgres.Given(f.OperationID) }))
	if err != nil {
		return nil, fmt.Errorf("finishing webhooks: %w", err)
	}
	written := map[uuid.UUID]bool{}
	var id uuid.UUID
	if _, err = pgx.ForEachRow(rows, []any{&id}, func() error { written[id] = true; return nil }); err != nil {
		return nil, fmt.Errorf("finishing webhooks: %w", err)
	}
	return written, nil
}

// Forget removes at most limit bodies of events that are older than BodyKeep, and as
// many of those that came under a known id, and returns how many it removed. What
// waits for a person keeps its body.
func Forget(ctx context.Context, q Querier, limit int) (int, error) {
	forgotten := 0
	for _, sql := range []string{forgetSQL, forgetConflictsSQL} {
		tag, err := q.Exec(ctx, sql, BodyKeep, limit)
		if err != nil {
			return forgotten, fmt.Errorf("forgetting bodies of webhooks: %w", err)
		}
		forgotten += int(tag.RowsAffected())
	}
	return forgotten, nil
}
