package operation

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/money"
)

//go:embed look_up.sql
var lookUpSQL string

// LookedUp is one operation as it stands now, whatever its state.
type LookedUp struct {
	Check
	// Busy means that an attempt may be under way: a worker holds the operation, or
	// has been ordered to send it again.
	Busy bool
	// Refund means that it is a merchant's refund, and gives back no case's money.
	Refund bool
}

// LookUp reads an operation of which somebody speaks, without locking or taking
// anything. It reports false when there is none.
func LookUp(ctx context.Context, q Querier, id uuid.UUID) (LookedUp, bool, error) {
	rows, err := q.Query(ctx, lookUpSQL, id)
	if err != nil {
		return LookedUp{}, false, fmt.Errorf("looking up operation %s: %w", id, err)
	}
	found, err := pgx.CollectRows(rows, scanLookedUp)
	if err != nil || len(found) == 0 {
		if err != nil {
			err = fmt.Errorf("looking up operation %s: %w", id, err)
		}
		return LookedUp{}, false, err
	}
	return found[0], true, nil
}

func scanLookedUp(row pgx.CollectableRow) (LookedUp, error) {
	var l LookedUp
	var minor int64
	var currency money.Currency
	err := row.Scan(&l.OperationID, &l.PaymentID, &l.Kind, &l.ProviderAccount, &minor, &currency, &l.State, &l.Fence,
		&l.WaitsFor, &l.ProviderObjectID, &l.AskedAt, &l.LastPossibleSend, &l.Sends, &l.Recipe, &l.Lost, &l.ObjectInDoubt, &l.Busy, &l.Refund)
	if err != nil {
		return LookedUp{}, err
	}
	l.Amount, err = money.New(minor, currency)
	return l, err
}
