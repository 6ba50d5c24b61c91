package casework

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
)

//go:embed of_operations.sql
var ofOperationsSQL string

//go:embed list.sql
var listSQL string

//go:embed history.sql
var historySQL string

// OfOperations returns all cases of the given charges and refunds, and those with the given
// ids. Whoever moves them reads them while holding their payments.
func OfOperations(ctx context.Context, q operation.Querier, charges, ids []uuid.UUID) ([]Case, error) {
	rows, err := q.Query(ctx, ofOperationsSQL, charges, ids)
	if err != nil {
		return nil, fmt.Errorf("reading cases: %w", err)
	}
	return collect(rows)
}

// PageMax bounds one page of List.
const PageMax = 500

// Filter chooses cases. The zero value is everything that is not closed.
type Filter struct {
	Closed          bool // closed ones too
	ProviderAccount string
	PaymentID       uuid.UUID
	WaitsFor        operation.Owner
	After           uuid.UUID // the last one of the page before
	Limit           int       // 0, and anything beyond it, means PageMax
}

// List returns cases, the oldest first.
func List(ctx context.Context, q operation.Querier, f Filter) ([]Case, error) {
	if f.Limit <= 0 || f.Limit > PageMax {
		f.Limit = PageMax
	}
	rows, err := q.Query(ctx, listSQL, f.Closed, f.ProviderAccount, postgres.Given(f.PaymentID), string(f.WaitsFor), f.After, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("listing cases: %w", err)
	}
	return collect(rows)
}

// Line is one line of a case's history.
type Line struct {
	Version int64
	From    State // empty: it was opened
	To      State
	Plan    Plan
	By      Actor
	Reason  string
	At      time.Time
}

// Detail is a case with all that happened to it, oldest first.
type Detail struct {
	Case
	History       []Line
	Compensations []operation.Compensation
}

// Get returns one case, or ErrNoSuchCase.
func Get(ctx context.Context, q operation.Querier, id uuid.UUID) (Detail, error) {
	found, err := OfOperations(ctx, q, nil, []uuid.UUID{id})
	if err != nil {
		return Detail{}, err
	}
	if len(found) == 0 {
		return Detail{}, fmt.Errorf("case %s: %w", id, ErrNoSuchCase)
	}
	d := Detail{Case: found[0]}
	compensations, err := operation.Compensations(ctx, q, []uuid.UUID{id})
	if err != nil {
		return Detail{}, err
	}
	d.Compensations = compensations[id]
	rows, err := q.Query(ctx, historySQL, id)
	if err != nil {
		return Detail{}, fmt.Errorf("reading the history of case %s: %w", id, err)
	}
	d.History, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Line, error) {
		var l Line
		err := row.Scan(&l.Version, &l.From, &l.To, &l.Plan, &l.By.Owner, &l.By.Name, &l.Reason, &l.At)
		return l, err
	})
	if err != nil {
		return Detail{}, fmt.Errorf("reading the history of case %s: %w", id, err)
	}
	return d, nil
}

func collect(rows pgx.Rows) ([]Case, error) {
	cases, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Case, error) {
		var c Case
		var minor *int64
		var currency *money.Currency
		err := row.Scan(&c.ID, &c.PaymentID, &c.OperationID, &c.Kind, &c.ProviderAccount, &minor, &currency, &c.Suspended,
			&c.State, &c.Plan, &c.Resolution, &c.WaitsFor, &c.ProviderObjectID, &c.Version, &c.NextStepAt, &c.CreatedAt, &c.UpdatedAt, &c.MovedBy,
			&c.Of)
		if err == nil {
			c.Amount, err = postgres.Amount(minor, currency)
		}
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading cases: %w", err)
	}
	return cases, nil
}
