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

//go:embed refund_view.sql
var refundViewSQL string

//go:embed refunds_of.sql
var refundsOfSQL string

//go:embed refund_named.sql
var refundNamedSQL string

// Refund returns a refund of one merchant as it stands now. It reports false for one
// that does not exist or is another merchant's.
func Refund(ctx context.Context, q Querier, merchant, id uuid.UUID) (payment.RefundView, bool, error) {
	return theRefund(ctx, q, refundViewSQL, id, merchant)
}

// RefundNamed returns the refund of a payment that has a reference, whatever became of
// it. It reports false when the reference is free.
func RefundNamed(ctx context.Context, q Querier, paymentID uuid.UUID, reference string) (payment.RefundView, bool, error) {
	return theRefund(ctx, q, refundNamedSQL, paymentID, reference)
}

// RefundsOf returns refunds of a payment, oldest first, those behind the given one, and
// at most limit of them.
func RefundsOf(ctx context.Context, q Querier, paymentID, after uuid.UUID, limit int) ([]payment.RefundView, error) {
	return refunds(ctx, q, refundsOfSQL, paymentID, after, limit)
}

func theRefund(ctx context.Context, q Querier, sql string, args ...any) (payment.RefundView, bool, error) {
	found, err := refunds(ctx, q, sql, args...)
	if err != nil || len(found) == 0 {
		return payment.RefundView{}, false, err
	}
	return found[0], true, nil
}

func refunds(ctx context.Context, q Querier, sql string, args ...any) ([]payment.RefundView, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("reading refunds: %w", err)
	}
	views, err := pgx.CollectRows(rows, scanRefund)
	if err != nil {
		return nil, fmt.Errorf("reading refunds: %w", err)
	}
	return views, nil
}

func scanRefund(row pgx.CollectableRow) (payment.RefundView, error) {
	var v payment.RefundView
	var minor int64
	var next *time.Time
	err := row.Scan(&v.ID, &v.PaymentID, &v.RefundReference, &v.State, &minor, &v.Currency, &v.Reason, &next, &v.CreatedAt, &v.UpdatedAt)
	if err != nil {
		return payment.RefundView{}, err
	}
	amount, err := money.New(minor, v.Currency)
	if err != nil {
		return payment.RefundView{}, err
	}
	return dressedRefund(v, amount, next), nil
}

// RefundView renders a locked merchant's refund as Refund would, once the transaction
// that moved it has committed.
func (l Locked) RefundView() payment.RefundView {
	v := payment.RefundView{
		ID: l.ID, PaymentID: l.PaymentID, RefundReference: given(l.RefundReference), State: l.State, Currency: l.Amount.Currency(),
		Reason: l.Reason, CreatedAt: l.CreatedAt, UpdatedAt: l.Now,
	}
	return dressedRefund(v, l.Amount, l.next())
}

func dressedRefund(v payment.RefundView, amount money.Amount, next *time.Time) payment.RefundView {
	v.Amount, v.AmountMinor = amount.Decimal(), fmt.Sprint(amount.Minor())
	v.CreatedAt, v.UpdatedAt = v.CreatedAt.UTC(), v.UpdatedAt.UTC()
	if next != nil && !v.State.Final() {
		v.NextCheckAt = new(next.UTC())
	}
	return v
}
