// Package billing is an example of a service that hears of captured payments: it
// bills each of them once, in a database of its own.
//
//	PaymentCaptured ──> inbox.Consumer ──> bill ──> billed
//
// A repeated message, a replay of the whole topic, a crash at any moment and two
// instances at once change nothing about "once": pkg/inbox writes the message's id
// in the transaction that writes the row. What billing cannot make sense of goes
// to the dead letters, and never a payment because the database was away.
package billing

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

// Consumer is billing's name in its inbox.
const Consumer = "billing"

// connsMax is small: the consumer works on one transaction at a time.
const connsMax = 4

// Config is what billing needs to know.
type Config struct {
	// DatabaseURL is billing's own database, never payonce's. Its role owns the
	// tables, which Run migrates. It must lead to PostgreSQL itself, because the
	// migration lock belongs to the session.
	DatabaseURL string `env:"BILLING_DATABASE_URL,required,notEmpty"`
	// Brokers are Kafka's addresses.
	Brokers []string `env:"BILLING_KAFKA_BROKERS,required,notEmpty"`
	// TopicPrefix is payonce's PAYONCE_TOPIC_PREFIX.
	TopicPrefix string `env:"BILLING_TOPIC_PREFIX" envDefault:"payonce"`
	// Group is the consumer group, PREFIX.billing when empty. Another group reads
	// the whole topic again, and bills nothing again.
	Group string `env:"BILLING_GROUP"`
	// Log is told of trouble and refusals. nil: nobody is.
	Log *zap.Logger `env:"-"`
}

// Run brings the schema up to date and bills captured payments until ctx ends,
// then finishes the step in hand and returns nil. It returns an error when the
// database cannot be reached at the start, or Kafka has lost events that were not
// billed yet; see inbox.Consumer.
func Run(ctx context.Context, c Config) error {
	if err := migrate(ctx, c.DatabaseURL); err != nil {
		return err
	}
	pool, err := openPool(ctx, c.DatabaseURL)
	if err != nil {
		return err
	}
	defer pool.Close()
	topics := event.TopicsWithPrefix(c.TopicPrefix)
	group := c.Group
	if group == "" {
		group = c.TopicPrefix + "." + Consumer
	}
	consumer, err := inbox.NewConsumer(inbox.Config{
		Name: Consumer, Group: group, Brokers: c.Brokers, Topic: topics.Events, DeadLetters: topics.DeadLetters,
		Types: []event.Type{event.PaymentCaptured}, Log: c.Log,
	}, pool, bill)
	if err != nil {
		return fmt.Errorf("setting up billing: %w", err)
	}
	return consumer.Run(ctx)
}

func openPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, errURL
	}
	config.MaxConns = connsMax
	config.ConnConfig.RuntimeParams["application_name"] = Consumer
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("opening billing's database: %w", err)
	}
	return pool, nil
}
