package intake_test

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
)

// An order and its payment, in one transaction. examples/shop is a whole service.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://shop@127.0.0.1/payonce") // a member of payonce_app
	if err != nil {
		panic(err)
	}
	defer pool.Close()
	door, err := intake.New(intake.Config{Accounts: map[string]string{"card": "stripe"}})
	if err != nil {
		panic(err)
	}
	price, err := money.Parse("12.50", "EUR")
	if err != nil {
		panic(err)
	}
	merchant, order := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), uuid.Must(uuid.NewV7())

	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "INSERT INTO shop.orders (id) VALUES ($1)", order); err != nil {
			return err
		}
		_, err := door.Submit(ctx, tx, intake.Command{
			MerchantID: merchant, IdempotencyKey: order.String(), InvoiceID: order.String(), PaymentType: "order",
			Amount: price, PaymentMethod: "pm_1",
		})
		return err // and BeginFunc rolls back
	})
	if errors.Is(err, intake.ErrBusy) {
		return // run the whole transaction again, with the same key
	}
}
