package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
)

//go:embed last_ended.sql
var lastEndedSQL string

// Invoice is what one payment at a time is made for.
type Invoice struct {
	MerchantID  uuid.UUID
	InvoiceID   string
	PaymentType string
}

// Ended is the last payment of an invoice that failed or was canceled.
type Ended struct {
	PaymentID   uuid.UUID
	Key         *string // that it was accepted under, nil when it is not kept any more
	Fingerprint []byte  // of the request, with Key
	Recent      bool    // it ended less than the asked-for time ago
}

// LastEnded returns, by its place, the last payment of each invoice that came to
// nothing; invoices without one are left out. Keys are those of the route. It locks
// nothing.
func LastEnded(ctx context.Context, tx pgx.Tx, invoices []Invoice, route string, recent time.Duration) (map[int]Ended, error) {
	rows, err := tx.Query(ctx, lastEndedSQL,
		postgres.Column(invoices, func(i Invoice) uuid.UUID { return i.MerchantID }),
		postgres.Column(invoices, func(i Invoice) string { return i.InvoiceID }),
		postgres.Column(invoices, func(i Invoice) string { return i.PaymentType }),
		recent, route,
	)
	if err != nil {
		return nil, fmt.Errorf("looking for payments that have ended: %w", err)
	}
	ended := make(map[int]Ended, len(invoices))
	var place int
	var e Ended
	if _, err := pgx.ForEachRow(rows, []any{&place, &e.PaymentID, &e.Key, &e.Fingerprint, &e.Recent}, func() error {
		ended[place-1] = e
		return nil
	}); err != nil {
		return nil, fmt.Errorf("looking for payments that have ended: %w", err)
	}
	return ended, nil
}
