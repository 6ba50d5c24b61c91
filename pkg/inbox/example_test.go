package inbox_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// A consumer that writes one row per captured payment.
func Example() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, "postgres://shop@127.0.0.1/shop") // where inbox.Migrations have run
	if err != nil {
		panic(err)
	}
	defer pool.Close()

	ship := func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		for _, m := range messages {
			var data event.Outcome
			if err := json.Unmarshal(m.Payload, &data); err != nil {
				return inbox.Reject(fmt.Errorf("reading the event: %w", err)) // to the dead letters
			}
			if _, err := tx.Exec(ctx, "INSERT INTO shipment (invoice_id) VALUES ($1)", data.InvoiceID); err != nil {
				return err // it comes back
			}
		}
		return nil
	}
	consumer, err := inbox.NewConsumer(inbox.Config{
		Name: "shipping", Group: "shipping", Brokers: []string{"127.0.0.1:9092"},
		Topic: "payonce.events", DeadLetters: "payonce.dead-letters", Types: []event.Type{event.PaymentCaptured},
	}, pool, ship)
	if err != nil {
		panic(err)
	}
	if err := consumer.Run(ctx); err != nil {
		panic(err)
	}
}

// A consumer with a loop of its own claims the messages in its transaction and acts
// on the fresh ones.
func ExampleClaim() {
	handle := func(ctx context.Context, tx pgx.Tx, messages []inbox.Message) error {
		claimed, err := inbox.Claim(ctx, tx, "shipping", messages)
		if err != nil {
			return err
		}
		for i, m := range messages {
			if claimed[i] != inbox.Fresh {
				continue
			}
			if _, err := tx.Exec(ctx, "INSERT INTO shipment (event_id) VALUES ($1)", m.ID); err != nil {
				return err
			}
		}
		return nil // and then tx.Commit, and then the offsets
	}
	_ = handle
}
