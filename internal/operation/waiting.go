package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Waiting is an operation whose outcome is not known yet (pending or unknown), or that
// waits for a person, as it stands now.
type Waiting struct {
	OperationID, PaymentID, MerchantID uuid.UUID
	InvoiceID                          string
	Kind                               payment.Kind
	ProviderAccount                    string
	Amount                             money.Amount
	State                              payment.OperationState
	Reason                             string     // a stable code, empty without one
	Since                              time.Time  // when its outcome became open; of one that is created, its birth
	Now                                time.Time  // database clock; Now − Since is its age
	NextAt                             *time.Time // the next look at it, or the end of the lease
	WaitsFor                           Owner
}

// WaitingTotal sums an account's waiting operations in one currency.
type WaitingTotal struct {
	ProviderAccount string
	Currency        money.Currency
	Operations      int
	Unknown         int
	// AtRisk is the sum of what is unknown, in minor units: text, because a sum may
	// exceed what one amount may be.
	AtRisk    string
	ForPerson int
	Oldest    time.Time // the earliest Since
	Now       time.Time
}

// WaitingFilter chooses what List and totals show. The zero value is everything.
type WaitingFilter struct {
	ProviderAccount string
	WaitsFor        Owner
	OlderThan       time.Duration
	After           uuid.UUID // the last one of the page before
	Limit           int       // 0, and anything beyond it, means WaitingPageMax
}

// WaitingPageMax bounds one page.
const WaitingPageMax = 500

//go:embed waiting.sql
var waitingSQL string

//go:embed waiting_totals.sql
var waitingTotalsSQL string

// ListWaiting returns one page of what waits, the oldest id first.
func ListWaiting(ctx context.Context, q Querier, f WaitingFilter) ([]Waiting, error) {
	if f.Limit <= 0 || f.Limit > WaitingPageMax {
		f.Limit = WaitingPageMax
	}
	rows, err := q.Query(ctx, waitingSQL, f.ProviderAccount, string(f.WaitsFor), f.OlderThan, f.After, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("listing what waits: %w", err)
	}
	waiting, err := pgx.CollectRows(rows, scanWaiting)
	if err != nil {
		return nil, fmt.Errorf("listing what waits: %w", err)
	}
	return waiting, nil
}

func scanWaiting(row pgx.CollectableRow) (Waiting, error) {
	var w Waiting
	var minor int64
	var currency money.Currency
	err := row.Scan(&w.OperationID, &w.PaymentID, &w.MerchantID, &w.InvoiceID, &w.Kind, &w.ProviderAccount, &minor, &currency,
		&w.State, &w.Reason, &w.Since, &w.Now, &w.NextAt, &w.WaitsFor)
	if err != nil {
		return Waiting{}, err
	}
	w.Amount, err = money.New(minor, currency)
	return w, err
}

// TotalWaiting sums what waits by account and currency, whatever the page.
func TotalWaiting(ctx context.Context, q Querier, f WaitingFilter) ([]WaitingTotal, error) {
	rows, err := q.Query(ctx, waitingTotalsSQL, f.ProviderAccount, string(f.WaitsFor), f.OlderThan)
	if err != nil {
		return nil, fmt.Errorf("summing what waits: %w", err)
	}
	totals, err := pgx.CollectRows(rows, pgx.RowToStructByPos[WaitingTotal])
	if err != nil {
		return nil, fmt.Errorf("summing what waits: %w", err)
	}
	return totals, nil
}
