package demo

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

const (
	// brokerPatience bounds the wait for a real Kafka that may not be there.
	brokerPatience = 30 * time.Second
	// cleanUpPatience bounds dropping what was made on servers of others.
	cleanUpPatience = 30 * time.Second
	// partitions of each topic: several of them for each worker.
	partitions = 16
)

func (b *built) startDatabase(ctx context.Context) error {
	admin, err := b.databaseServer(ctx)
	if err != nil {
		return err
	}
	suffix := strings.ReplaceAll(uuid.NewString()[:8], "-", "")
	if b.database, err = b.create(ctx, admin, "payonce_demo_"+suffix); err != nil {
		return err
	}
	if b.billing, err = b.create(ctx, admin, "billing_demo_"+suffix); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, b.database.OwnerURL); err != nil {
		return err
	}
	if b.pool, err = postgres.Open(ctx, b.database.AppURL, postgres.PoolOptions{ConnsMax: 4, ApplicationName: "payonce demo"}); err != nil {
		return err
	}
	b.later(b.pool.Close)
	if b.billed, err = pgxpool.New(ctx, b.billing.OwnerURL); err != nil {
		return err
	}
	b.later(b.billed.Close)
	b.databaseURL = b.database.AppURL
	return nil
}

func (b *built) databaseServer(ctx context.Context) (*pgserver.Admin, error) {
	if b.options.Database != "" {
		if err := refuseForeign(ctx, b.options.Database); err != nil {
			return nil, err
		}
		return pgserver.NewAdmin(ctx, b.options.Database)
	}
	// ctx may end while the server starts, but not the server that others stand on.
	starting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, cancel)
	server, err := pgserver.Start(starting, pgserver.Options{Download: b.options.Download})
	if err != nil {
		cancel()
		return nil, err
	}
	detach()
	b.later(func() {
		server.Stop()
		cancel()
	})
	return server.Admin, nil
}

//go:embed foreign.sql
var foreignSQL string

// refuseForeign protects a server that payonce works on: the demo would change the
// passwords of its roles.
func refuseForeign(ctx context.Context, superuserURL string) error {
	connection, err := pgx.Connect(ctx, superuserURL)
	if err != nil {
		return fmt.Errorf("connecting to --database: %w", err)
	}
	defer connection.Close(context.WithoutCancel(ctx))
	var foreign *string
	if err := connection.QueryRow(ctx, foreignSQL).Scan(&foreign); err != nil {
		return fmt.Errorf("looking at --database: %w", err)
	}
	if foreign != nil {
		return fmt.Errorf("the server of --database holds databases of payonce (%s), whose passwords the demo would change: "+
			"give it a server to try things on", *foreign)
	}
	return nil
}

func (b *built) create(ctx context.Context, admin *pgserver.Admin, name string) (pgserver.Database, error) {
	created, err := admin.CreateDatabase(ctx, name)
	if err != nil {
		return created, fmt.Errorf("creating the database %s: %w", name, err)
	}
	if b.options.Database != "" { // a server that goes takes its databases along
		b.later(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpPatience)
			defer cancel()
			if err := admin.DropDatabase(ctx, name); err != nil {
				b.progress.say(fmt.Sprintf("the database %s is left behind: %v", name, err))
			}
		})
	}
	return created, nil
}

func (b *built) startBroker(ctx context.Context) error {
	if b.options.Broker != "" {
		b.brokers, b.brokerName = strings.Split(b.options.Broker, ","), "Kafka at "+b.options.Broker
		b.prefix = "payonce-demo-" + uuid.NewString()[:8]
	} else {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return fmt.Errorf("starting kfake: %w", err)
		}
		b.later(cluster.Close)
		b.brokers, b.brokerName, b.prefix = cluster.ListenAddrs(), "kfake", "payonce"
	}
	b.topics = event.TopicsWithPrefix(b.prefix)
	client, err := kgo.NewClient(kgo.SeedBrokers(b.brokers...))
	if err != nil {
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	defer client.Close()
	if b.options.Broker != "" {
		b.later(func() { b.deleteTopics(context.WithoutCancel(ctx)) })
	}
	ctx, cancel := context.WithTimeout(ctx, brokerPatience)
	defer cancel()
	return kafka.EnsureTopics(ctx, client, kafka.TopicShape{Partitions: partitions, Replication: 1}, b.topics.All()...)
}

func (b *built) deleteTopics(ctx context.Context) {
	client, err := kgo.NewClient(kgo.SeedBrokers(b.brokers...))
	if err != nil {
		return // it was made in the same way before
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, cleanUpPatience)
	defer cancel()
	deleted, err := kadm.NewClient(client).DeleteTopics(ctx, b.topics.All()...)
	if err := errors.Join(err, deleted.Error()); err != nil {
		b.progress.say(fmt.Sprintf("the topics %s.* are left behind: %v", b.prefix, err))
	}
}
