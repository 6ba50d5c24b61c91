// Command shop places one order.
//
//	shop ORDER-ID ITEM AMOUNT CURRENCY TOKEN
//
// It reads SHOP_DATABASE_URL (the role shop in payonce's database), SHOP_MERCHANT (the
// merchant's id) and PAYONCE_KEY_WINDOW as payonce's services do, and prints the payment. With the same arguments it prints the
// same payment again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/examples/shop"
	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
)

func main() {
	if err := run(context.Background(), os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, arguments []string) error {
	order, err := read(arguments)
	if err != nil {
		return err
	}
	merchant, err := uuid.Parse(os.Getenv("SHOP_MERCHANT"))
	if err != nil {
		return errors.New("SHOP_MERCHANT is no merchant's id")
	}
	pool, err := pgxpool.New(ctx, os.Getenv("SHOP_DATABASE_URL"))
	if err != nil {
		return errors.New("SHOP_DATABASE_URL must have the form postgres://shop:PASSWORD@HOST:PORT/DATABASE")
	}
	defer pool.Close()
	window, err := keyWindow()
	if err != nil {
		return err
	}
	door, err := intake.New(intake.Config{KeyWindow: window})
	if err != nil {
		return err
	}
	view, err := (&shop.Shop{Pool: pool, Intake: door, Merchant: merchant}).Place(ctx, order)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "order %s is being paid: payment %s, %s\n", order.ID, view.ID, view.State)
	return nil
}

// keyWindow is that of payonce's services, zero where they have their default.
func keyWindow() (time.Duration, error) {
	text := os.Getenv("PAYONCE_KEY_WINDOW")
	if text == "" {
		return 0, nil
	}
	window, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("PAYONCE_KEY_WINDOW is no duration, such as 72h")
	}
	return window, nil
}

func read(arguments []string) (shop.Order, error) {
	if len(arguments) != 5 {
		return shop.Order{}, errors.New("usage: shop ORDER-ID ITEM AMOUNT CURRENCY TOKEN")
	}
	id, err := uuid.Parse(arguments[0])
	if err != nil {
		return shop.Order{}, errors.New("ORDER-ID is no UUID")
	}
	currency, err := money.ParseCurrency(arguments[3])
	if err != nil {
		return shop.Order{}, err
	}
	price, err := money.Parse(arguments[2], currency)
	if err != nil {
		return shop.Order{}, err
	}
	return shop.Order{ID: id, Item: arguments[1], Price: price, PaymentMethod: arguments[4]}, nil
}
