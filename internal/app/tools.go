package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/pkg/event"
)

// topicsWait bounds the creation of topics. A broker that is silent for longer is
// not there.
const topicsWait = 30 * time.Second

// Migrate brings the schema up to date, as its owner.
func Migrate(ctx context.Context, environ []string) error {
	c, err := config.Load[config.Migrate](environ)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, string(c.OwnerURL)); err != nil {
		return fmt.Errorf("migrating by PAYONCE_MIGRATE_DATABASE_URL: %w", err)
	}
	return nil
}

// CreateTopics creates the shared topics that are missing and returns the names of
// all. partitions is a power of two up to 64, 0 the default; replication 0 is the
// broker's default.
func CreateTopics(ctx context.Context, environ []string, partitions int32, replication int16) ([]string, error) {
	c, err := config.Load[config.TopicsTool](environ)
	if err != nil {
		return nil, err
	}
	topics := topicsOf(c.Topics).All()
	return topics, ensureTopics(ctx, c, kafka.TopicShape{Partitions: partitions, Replication: replication}, topics...)
}

// CreateDoorTopics is CreateTopics for the two topics of one merchant at the Kafka
// door. It does not look whether there is such a merchant.
func CreateDoorTopics(ctx context.Context, environ []string, merchant uuid.UUID, partitions int32, replication int16) ([]string, error) {
	c, err := config.Load[config.TopicsTool](environ)
	if err != nil {
		return nil, err
	}
	topics := event.DoorTopicsOf(string(c.TopicPrefix), merchant)
	shape := kafka.TopicShape{Partitions: partitions, Replication: replication}
	if err := ensureTopics(ctx, c, shape, topics.Replies); err != nil {
		return nil, err
	}
	// How old a command is, is not for its sender to say, nor may its key fill a message.
	shape.BrokerTime, shape.RecordBytesMax = true, kafka.RecordBytesMax
	return topics.All(), ensureTopics(ctx, c, shape, topics.Commands)
}

func ensureTopics(ctx context.Context, c config.TopicsTool, shape kafka.TopicShape, topics ...string) error {
	client, err := kgo.NewClient(kafkaOptions("payctl", c.Kafka, zap.NewNop())...)
	if err != nil {
		return fmt.Errorf("PAYONCE_KAFKA_BROKERS: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, topicsWait)
	defer cancel()
	err = kafka.EnsureTopics(ctx, client, shape, topics...)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("asking PAYONCE_KAFKA_BROKERS: %w: %w", ErrUnavailable, err)
	}
	if err != nil {
		return fmt.Errorf("asking PAYONCE_KAFKA_BROKERS: %w", err)
	}
	return nil
}

// toolPool connects payctl to the database.
func toolPool(ctx context.Context, url config.DatabaseURL, connsMax int32) (*pgxpool.Pool, error) {
	pool, err := postgres.Open(ctx, string(url), postgres.PoolOptions{ConnsMax: connsMax, ApplicationName: "payctl"})
	if err != nil {
		return nil, fmt.Errorf("PAYONCE_DATABASE_URL: %w", err)
	}
	return pool, nil
}

// Explain says what a connector declares about its provider and what follows.
func Explain(connector string) (string, error) {
	capabilities, err := connectors.Declared(connector)
	if err != nil {
		return "", err
	}
	return provider.Explain(capabilities), nil
}
