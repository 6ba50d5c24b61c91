package operation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// ErrNoPayment says that the merchant has no payment of this id.
var ErrNoPayment = errors.New("the merchant has no such payment")

// Happened is an entry of a payment's history, as it is read.
type Happened struct {
	Seq         int64 // rises within a payment, with gaps
	OperationID uuid.UUID
	Kind        payment.Kind
	From, To    payment.OperationState // From is empty for an operation's birth
	Reason      string                 // a stable code, empty without one
	At          time.Time              // database clock, UTC
	EventID     uuid.UUID              // of the event that told it, zero when nobody was told
	EventType   event.Type
}

// HistoryPage names a part of a payment's history.
type HistoryPage struct {
	Owned
	After int64 // Seq of the last entry that was read, 0 before the first
	Limit int   // at most ListPageMax
}

//go:embed read_history.sql
var readHistorySQL string

// ReadHistory returns one page of what happened to a payment and its operations, oldest
// first, and whether there is more. It returns ErrNoPayment also for a payment of
// another merchant.
func ReadHistory(ctx context.Context, q Querier, p HistoryPage) (entries []Happened, more bool, err error) {
	limit := min(max(p.Limit, 1), ListPageMax)
	rows, err := q.Query(ctx, readHistorySQL, p.PaymentID, p.MerchantID, p.After, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("reading the history of %s: %w", p.PaymentID, err)
	}
	found, err := pgx.CollectRows(rows, scanHappened)
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("reading the history of %s: %w", p.PaymentID, err)
	case len(found) == 0:
		return nil, false, ErrNoPayment
	case found[0] == nil:
		return nil, false, nil
	}
	for _, h := range found[:min(len(found), limit)] {
		entries = append(entries, *h)
	}
	return entries, len(found) > limit, nil
}

// scanHappened returns nil for the row that only says that the payment is there.
func scanHappened(row pgx.CollectableRow) (*Happened, error) {
	var seq *int64
	var operationID, eventID *uuid.UUID
	var kind *payment.Kind
	var from, to *payment.OperationState
	var reason *string
	var at *time.Time
	var eventType *event.Type
	if err := row.Scan(&seq, &operationID, &kind, &from, &to, &reason, &at, &eventID, &eventType); err != nil || seq == nil {
		return nil, err
	}
	return &Happened{
		Seq: *seq, OperationID: given(operationID), Kind: given(kind), From: given(from), To: given(to),
		Reason: given(reason), At: given(at).UTC(), EventID: given(eventID), EventType: given(eventType),
	}, nil
}

// given is a column's value, or nothing where it is NULL.
func given[Value any](v *Value) (value Value) {
	if v != nil {
		value = *v
	}
	return value
}
