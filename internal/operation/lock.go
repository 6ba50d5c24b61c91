package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Locked is an operation with its payment, both held FOR UPDATE by the
// transaction that read them. Now is the database's clock at the read.
type Locked struct {
	ID, PaymentID, MerchantID uuid.UUID
	Kind                      payment.Kind
	ProviderAccount           string
	Amount                    money.Amount
	ChargeBefore              *time.Time
	CaseID                    *uuid.UUID // of a compensation: the case whose money it gives back
	RefundReference           *string    // of a merchant's refund: the merchant's name for it
	CreatedAt                 time.Time

	Standing

	Payment Payment
	Now     time.Time
}

// Standing is the part of an operation that moves.
type Standing struct {
	State            payment.OperationState
	Reason           *string
	Fence            int64
	LeaseUntil       *time.Time // a worker may be sending until then
	NextAttemptAt    *time.Time // when the due list takes it
	ResendFence      *int64     // a resend order, good for exactly this fence
	NextCheckAt      *time.Time // when the reconciler asks next
	Checks           int
	OpenSince        *time.Time // when the outcome became pending or unknown
	WaitsFor         Owner
	ProviderObjectID *string
}

// Owner says who has to act next on an operation.
type Owner string

// The owners of an open operation.
const (
	Machine Owner = "machine"
	Person  Owner = "person"
)

// Payment is what an outcome needs of the payment above an operation.
type Payment struct {
	State                  payment.State
	Reason                 *string
	Amount                 money.Amount
	InvoiceID, PaymentType string
	ExternalReference      *string
	Refunded               money.Amount // the sum of merchants' refunds that have not failed
	CreatedAt              time.Time
	Context                event.Context // of a merchant's refund: its own request's
}

//go:embed lock.sql
var lockSQL string

//go:embed lock_expired.sql
var lockExpiredSQL string

//go:embed overdue.sql
var overdueSQL string

// Lock locks operations with their payments in the global order and returns
// them, payments sorted by id. Ids that do not exist are absent from the result.
// It waits for other holders, at most as long as the transaction's lock_timeout.
func Lock(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]Locked, error) {
	rows, err := tx.Query(ctx, lockSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("locking operations: %w", err)
	}
	return collectLocked(rows)
}

// LockExpired locks operations of the given accounts whose lease ran out, at
// most limit of them. Each is handed to one caller at a time.
func LockExpired(ctx context.Context, tx pgx.Tx, accounts []string, limit int) ([]Locked, error) {
	rows, err := tx.Query(ctx, lockExpiredSQL, accounts, limit)
	if err != nil {
		return nil, fmt.Errorf("locking operations whose lease ran out: %w", err)
	}
	return collectLocked(rows)
}

// Overdue returns operations, and their payments, of the given accounts that
// still wait to be sent although their last moment (ChargeBefore) has passed.
// It locks nothing: look again under the lock.
func Overdue(ctx context.Context, q Querier, accounts []string, limit int) (operations, payments []uuid.UUID, err error) {
	rows, err := q.Query(ctx, overdueSQL, accounts, limit)
	if err != nil {
		return nil, nil, fmt.Errorf("reading operations past their last moment: %w", err)
	}
	var operation, payment uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&operation, &payment}, func() error {
		operations, payments = append(operations, operation), append(payments, payment)
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("reading operations past their last moment: %w", err)
	}
	return operations, payments, nil
}

func collectLocked(rows pgx.Rows) ([]Locked, error) {
	locked, err := pgx.CollectRows(rows, scanLocked)
	if err != nil {
		return nil, fmt.Errorf("reading locked operations: %w", err)
	}
	return locked, nil
}

func scanLocked(row pgx.CollectableRow) (Locked, error) {
	var l Locked
	var minor, paymentMinor, refunded int64
	var currency money.Currency
	err := row.Scan(&l.ID, &l.PaymentID, &l.MerchantID, &l.Kind, &l.ProviderAccount, &minor, &currency, &l.ChargeBefore,
		&l.State, &l.Reason, &l.Fence, &l.LeaseUntil, &l.NextAttemptAt, &l.ResendFence, &l.NextCheckAt, &l.Checks,
		&l.OpenSince, &l.WaitsFor, &l.ProviderObjectID, &l.CaseID, &l.RefundReference, &l.CreatedAt,
		&l.Payment.State, &l.Payment.Reason, &paymentMinor, &l.Payment.InvoiceID, &l.Payment.PaymentType,
		&l.Payment.ExternalReference, &refunded, &l.Payment.CreatedAt,
		&l.Payment.Context.TraceParent, &l.Payment.Context.CorrelationID, &l.Payment.Context.IdempotencyKey, &l.Now)
	if err != nil {
		return Locked{}, err
	}
	l.Now, l.CreatedAt, l.Payment.CreatedAt = l.Now.UTC(), l.CreatedAt.UTC(), l.Payment.CreatedAt.UTC()
	if l.Amount, err = money.New(minor, currency); err != nil {
		return Locked{}, err
	}
	if l.Payment.Amount, err = money.New(paymentMinor, currency); err != nil {
		return Locked{}, err
	}
	l.Payment.Refunded, err = money.New(refunded, currency)
	return l, err
}
