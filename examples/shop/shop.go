// Package shop is an example of a service that takes orders and has them paid: an
// order and its payment commit together, or neither does.
//
//	Place ──one transaction──> customer_order + payment ──> payonce charges it
//
// The shop's table is in payonce's database, see setup.sql, so there is nothing to
// compensate, no outbox of the shop's own and no order that nobody asked money for. What
// became of the payment comes as an event; examples/billing shows how to hear it.
package shop

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// patience bounds the tries of one order. A customer does not wait longer.
const patience = 10 * time.Second

var (
	//go:embed insert_order.sql
	insertOrderSQL string
	//go:embed pay_order.sql
	payOrderSQL string
)

// Shop sells for one merchant.
type Shop struct {
	Pool     *pgxpool.Pool // connects as the role shop
	Intake   *intake.Intake
	Merchant uuid.UUID
}

// Order is what a customer wants. Its ID is made once per intent, in the browser or
// when the basket is shown, and stays the same over every click and every retry.
type Order struct {
	ID            uuid.UUID
	Item          string
	Price         money.Amount
	PaymentMethod string // the provider's token
}

// Place stores the order and takes its payment on. A repeat returns the first one's
// payment. After an error the customer may click again: what happened is not repeated.
//
// An error of intake that says why the order cannot be taken (InvalidError,
// MismatchedError, ConflictError) leaves no order behind. ErrExpired says that an order of
// days ago is placed again, whose answer may be stored no more: payment_id of its row says
// which payment it had, and nothing is charged.
func (s *Shop) Place(ctx context.Context, o Order) (payment.View, error) {
	return backoff.Retry(ctx, func() (payment.View, error) {
		view, err := s.place(ctx, o)
		if err != nil && !errors.Is(err, intake.ErrBusy) {
			err = backoff.Permanent(err)
		}
		return view, err
	}, backoff.WithMaxElapsedTime(patience))
}

func (s *Shop) place(ctx context.Context, o Order) (payment.View, error) {
	var result intake.Result
	err := pgx.BeginFunc(ctx, s.Pool, func(tx pgx.Tx) error {
		// The shop's own row first, in every transaction: then no two of them wait for
		// each other.
		key, err := insertOrder(ctx, tx, o)
		if err != nil {
			return err
		}
		result, err = s.Intake.Submit(ctx, tx, intake.Command{
			MerchantID: s.Merchant, IdempotencyKey: key.String(), InvoiceID: o.ID.String(), PaymentType: "order",
			Amount: o.Price, PaymentMethod: o.PaymentMethod,
		})
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, payOrderSQL, o.ID, result.Payment.ID); err != nil {
			return fmt.Errorf("storing the payment of order %s: %w", o.ID, err)
		}
		return nil
	})
	return result.Payment, err
}

// insertOrder stores an order and returns the key of its payment, which is made at the
// first click. The order's id would not do: it is as old as the basket, and payonce takes
// a time-ordered key that is older than it stores answers for one that it has forgotten.
func insertOrder(ctx context.Context, tx pgx.Tx, o Order) (key uuid.UUID, err error) {
	made, err := uuid.NewV7()
	if err != nil {
		return key, fmt.Errorf("making a key: %w", err)
	}
	if err := tx.QueryRow(ctx, insertOrderSQL, o.ID, o.Item, made).Scan(&key); err != nil {
		return key, fmt.Errorf("storing order %s: %w", o.ID, err)
	}
	return key, nil
}
