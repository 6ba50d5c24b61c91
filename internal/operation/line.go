package operation

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed due_first.sql
var dueFirstSQL string

// Line is the part of the due list that one account has of one kind.
type Line struct {
	Account string
	Kind    payment.Kind
	// Most is how many of it are wanted.
	Most int
}

// Due is an operation that is due, as far as a provider is asked about it.
type Due struct {
	OperationID      uuid.UUID
	Kind             payment.Kind
	Amount           money.Amount
	ProviderObjectID *string // what the request acts on
}

// DueFirst reads the head of a line and claims nothing: by the time that it
// returns, somebody else may have sent what it names.
func DueFirst(ctx context.Context, q Querier, line Line) ([]Due, error) {
	rows, err := q.Query(ctx, dueFirstSQL, line.Account, string(line.Kind), line.Most)
	if err != nil {
		return nil, fmt.Errorf("reading the head of a line: %w", err)
	}
	due, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Due, error) {
		var d Due
		var minor int64
		var currency money.Currency
		if err := row.Scan(&d.OperationID, &d.Kind, &minor, &currency, &d.ProviderObjectID); err != nil {
			return Due{}, err
		}
		var err error
		d.Amount, err = money.New(minor, currency)
		return d, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the head of a line: %w", err)
	}
	return due, nil
}
