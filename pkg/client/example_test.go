package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/money"
)

// A shop charges an order. The intent is made and stored with the order, before
// anything is sent, so that a crash changes nothing: the same intent is sent again.
func Example() {
	stored := client.NewIntent().String() // in the order's row, in the transaction that makes the order
	if err := pay(context.Background(), stored); err != nil {
		fmt.Println(err)
	}
}

func pay(ctx context.Context, stored string) error {
	payonce, err := client.New("https://payonce.example", os.Getenv("PAYONCE_API_KEY"))
	if err != nil {
		return err
	}
	defer payonce.Close()
	intent, err := client.ParseIntent(stored)
	if err != nil {
		return err
	}
	amount, err := money.Parse("149.90", "TRY")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	receipt, err := payonce.Waiting(5*time.Second).Submit(ctx, intent, client.PaymentRequest{
		InvoiceID: "INV-1001", PaymentType: "order", Amount: amount, PaymentMethod: "tok_visa",
	})
	conflict, taken := errors.AsType[*client.ConflictError](err)
	reused, changed := errors.AsType[*client.KeyReusedError](err)
	switch {
	case changed:
		fmt.Println("this order has a payment as it was first sent, with other", reused.DifferingFields)
	case taken:
		fmt.Println("this invoice has a payment already:", conflict.Payment.State)
	case errors.Is(err, client.ErrUnresolved):
		fmt.Println("being checked; later again, with the intent of the order's row")
	case err != nil:
		return err // nothing was taken on
	case !receipt.Payment.State.Final():
		fmt.Println("being paid")
	default:
		fmt.Println("ended:", receipt.Payment.State) // captured, failed or canceled
	}
	return nil
}
