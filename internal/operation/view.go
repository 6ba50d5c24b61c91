package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed view.sql
var viewSQL string

// Owned names a payment together with the merchant that it must belong to.
type Owned struct{ PaymentID, MerchantID uuid.UUID }

// Views returns the payments of one merchant by id, as they stand now. Payments
// of other merchants are absent, exactly like payments that do not exist.
func Views(ctx context.Context, q Querier, merchant uuid.UUID, ids []uuid.UUID) (map[uuid.UUID]payment.View, error) {
	return ViewsOf(ctx, q, postgres.Column(ids, func(id uuid.UUID) Owned { return Owned{id, merchant} }))
}

// ViewsOf is Views for payments of several merchants, in one statement.
func ViewsOf(ctx context.Context, q Querier, owned []Owned) (map[uuid.UUID]payment.View, error) {
	rows, err := q.Query(ctx, viewSQL,
		postgres.Column(owned, func(o Owned) uuid.UUID { return o.PaymentID }),
		postgres.Column(owned, func(o Owned) uuid.UUID { return o.MerchantID }),
	)
	if err != nil {
		return nil, fmt.Errorf("reading payments: %w", err)
	}
	collected, err := pgx.CollectRows(rows, scanView)
	if err != nil {
		return nil, fmt.Errorf("reading payments: %w", err)
	}
	views := make(map[uuid.UUID]payment.View, len(collected))
	for _, v := range collected {
		views[v.ID] = v
	}
	return views, nil
}

func scanView(row pgx.CollectableRow) (payment.View, error) {
	var v payment.View
	var minor, refundedMinor int64
	var next *time.Time
	if err := row.Scan(&v.ID, &v.OperationID, &v.State, &minor, &v.Currency, &v.InvoiceID, &v.PaymentType, &v.ExternalReference,
		&v.Reason, &refundedMinor, &next, &v.CreatedAt, &v.UpdatedAt); err != nil {
		return payment.View{}, err
	}
	amount, err := money.New(minor, v.Currency)
	if err != nil {
		return payment.View{}, err
	}
	refunded, err := money.New(refundedMinor, v.Currency)
	if err != nil {
		return payment.View{}, err
	}
	return dressed(v, amount, refunded, next), nil
}

// View renders a locked operation's payment as Views would, once the
// transaction that moved it has committed.
func (l Locked) View() payment.View {
	v := payment.View{
		ID: l.PaymentID, OperationID: l.ID, State: l.Payment.State, Currency: l.Payment.Amount.Currency(),
		InvoiceID: l.Payment.InvoiceID, PaymentType: l.Payment.PaymentType, ExternalReference: l.Payment.ExternalReference,
		Reason: l.Payment.Reason, CreatedAt: l.Payment.CreatedAt, UpdatedAt: l.Now,
	}
	return dressed(v, l.Payment.Amount, l.Payment.Refunded, l.next())
}

// next is when something happens to the operation next.
func (l Locked) next() *time.Time {
	switch {
	case l.NextCheckAt != nil:
		return l.NextCheckAt
	case l.NextAttemptAt != nil:
		return l.NextAttemptAt
	}
	return l.LeaseUntil
}

func dressed(v payment.View, amount, refunded money.Amount, next *time.Time) payment.View {
	v.Amount, v.AmountMinor = amount.Decimal(), fmt.Sprint(amount.Minor())
	v.Refunded = refunded.Decimal()
	v.CreatedAt, v.UpdatedAt = v.CreatedAt.UTC(), v.UpdatedAt.UTC()
	if next != nil && !v.State.Final() {
		utc := next.UTC()
		v.NextCheckAt = &utc
	}
	return v
}
