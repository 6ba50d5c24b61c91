package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
)

// MessageGrace is how long after accept the due list leaves an operation to the
// message that announces it. Past it, PostgreSQL alone gets the payment done.
const MessageGrace = time.Minute

// NewPayment is a payment as it was accepted, with its charge.
type NewPayment struct {
	PaymentID, OperationID, MerchantID uuid.UUID

	InvoiceID, PaymentType string
	ExternalReference      *string // unique per merchant while the payment lives
	Amount                 money.Amount
	PaymentMethod          string     // the provider's token, empty when none
	Customer               string     // the provider's customer, empty when none
	Metadata               []byte     // a JSON object, or nil
	ChargeBefore           *time.Time // no send at or after it; nil when unbounded
	ProviderAccount        string
	Context                event.Context
}

//go:embed create_payments.sql
var createPaymentsSQL string

//go:embed create_operations.sql
var createOperationsSQL string

// Create inserts payments with their charges, born created and due a
// MessageGrace after accept, and returns when each was accepted. The identities
// must be held already. Two payments with one id are an error.
func Create(ctx context.Context, tx pgx.Tx, payments []NewPayment) (map[uuid.UUID]time.Time, error) {
	rows, err := tx.Query(ctx, createPaymentsSQL, paymentColumns(payments)...)
	if err != nil {
		return nil, fmt.Errorf("inserting payments: %w", err)
	}
	accepted := make(map[uuid.UUID]time.Time, len(payments))
	var id uuid.UUID
	var at time.Time
	if _, err := pgx.ForEachRow(rows, []any{&id, &at}, func() error {
		accepted[id] = at.UTC()
		return nil
	}); err != nil {
		return nil, fmt.Errorf("inserting payments: %w", err)
	}
	operations, ids, accounts := make([]uuid.UUID, len(payments)), make([]uuid.UUID, len(payments)), make([]string, len(payments))
	for i, p := range payments {
		operations[i], ids[i], accounts[i] = p.OperationID, p.PaymentID, p.ProviderAccount
	}
	tag, err := tx.Exec(ctx, createOperationsSQL, operations, ids, accounts, MessageGrace)
	if err != nil {
		return nil, fmt.Errorf("inserting operations: %w", err)
	}
	return accepted, allTouched(tag.RowsAffected(), len(payments))
}

func paymentColumns(payments []NewPayment) []any {
	return []any{
		postgres.Column(payments, func(p NewPayment) uuid.UUID { return p.PaymentID }),
		postgres.Column(payments, func(p NewPayment) uuid.UUID { return p.MerchantID }),
		postgres.Column(payments, func(p NewPayment) string { return p.InvoiceID }),
		postgres.Column(payments, func(p NewPayment) string { return p.PaymentType }),
		postgres.Column(payments, func(p NewPayment) *string { return p.ExternalReference }),
		postgres.Column(payments, func(p NewPayment) int64 { return p.Amount.Minor() }),
		postgres.Column(payments, func(p NewPayment) string { return string(p.Amount.Currency()) }),
		postgres.Column(payments, func(p NewPayment) string { return p.PaymentMethod }),
		postgres.Column(payments, func(p NewPayment) string { return p.Customer }),
		postgres.Column(payments, func(p NewPayment) *string { return postgres.Given(string(p.Metadata)) }),
		postgres.Column(payments, func(p NewPayment) *time.Time { return p.ChargeBefore }),
		postgres.Column(payments, func(p NewPayment) string { return p.Context.TraceParent }),
		postgres.Column(payments, func(p NewPayment) string { return p.Context.CorrelationID }),
		postgres.Column(payments, func(p NewPayment) string { return p.Context.IdempotencyKey }),
	}
}
