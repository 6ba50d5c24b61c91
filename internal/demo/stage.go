package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/examples/billing"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/event"
)

// The two provider accounts, and how many partitions the topics have.
const (
	withKeys    = "card"
	withoutKeys = "card-nokeys"
	partitions  = 16
)

// stage is everything that the demo runs.
type stage struct {
	options    Options
	progress   *progress
	version    string
	brokerName string
	database   pgserver.Database
	billing    pgserver.Database
	pool       *pgxpool.Pool
	billed     *pgxpool.Pool
	brokers    []string
	topics     event.Topics
	prefix     string
	providers  map[string]*pspsim.Server // by account
	urls       map[string]string
	apiKeys    map[string]string // by account
	httpAddr   string
	witness    *witness
	children   *children
	closers    []func() // in the order in which things were started
}

func newStage(ctx context.Context, o Options) (*stage, error) {
	s := &stage{options: o, progress: newProgress(o), providers: map[string]*pspsim.Server{}, urls: map[string]string{}, apiKeys: map[string]string{}}
	for _, start := range []func(context.Context) error{
		s.startDatabase, s.startBroker, s.startProviders, s.createMerchants, s.startServices, s.startConsumers,
	} {
		if err := start(ctx); err != nil {
			s.close()
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) later(closer func()) { s.closers = append(s.closers, closer) }

func (s *stage) close() {
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
	s.closers = nil
}

func (s *stage) startDatabase(ctx context.Context) error {
	admin, err := s.databaseServer(ctx)
	if err != nil {
		return err
	}
	suffix := strings.ReplaceAll(uuid.NewString()[:8], "-", "")
	if s.database, err = s.create(ctx, admin, "payonce_demo_"+suffix); err != nil {
		return err
	}
	if s.billing, err = s.create(ctx, admin, "billing_demo_"+suffix); err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, s.database.OwnerURL); err != nil {
		return err
	}
	if s.pool, err = postgres.Open(ctx, s.database.AppURL, postgres.PoolOptions{ConnsMax: 4, ApplicationName: "payonce demo"}); err != nil {
		return err
	}
	s.later(s.pool.Close)
	if s.billed, err = pgxpool.New(ctx, s.billing.OwnerURL); err != nil {
		return err
	}
	s.later(s.billed.Close)
	return s.pool.QueryRow(ctx, "SHOW server_version").Scan(&s.version)
}

func (s *stage) databaseServer(ctx context.Context) (*pgserver.Admin, error) {
	if s.options.Database != "" {
		return pgserver.NewAdmin(ctx, s.options.Database)
	}
	server, err := pgserver.Start(ctx, pgserver.Options{})
	if err != nil {
		return nil, fmt.Errorf("starting PostgreSQL: %w", err)
	}
	s.later(server.Stop)
	return server.Admin, nil
}

func (s *stage) create(ctx context.Context, admin *pgserver.Admin, name string) (pgserver.Database, error) {
	created, err := admin.CreateDatabase(ctx, name)
	if err != nil {
		return created, fmt.Errorf("creating the database %s: %w", name, err)
	}
	if s.options.Database != "" { // a server that goes takes its databases along
		s.later(func() { _ = admin.DropDatabase(context.WithoutCancel(ctx), name) })
	}
	return created, nil
}

func (s *stage) startBroker(ctx context.Context) error {
	if s.options.Broker != "" {
		s.brokers, s.brokerName = strings.Split(s.options.Broker, ","), "Kafka at "+s.options.Broker
		s.prefix = "payonce-demo-" + uuid.NewString()[:8]
	} else {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			return fmt.Errorf("starting kfake: %w", err)
		}
		s.later(cluster.Close)
		s.brokers, s.brokerName, s.prefix = cluster.ListenAddrs(), "kfake", "payonce"
	}
	s.topics = event.TopicsWithPrefix(s.prefix)
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	if err != nil {
		return fmt.Errorf("connecting to Kafka: %w", err)
	}
	defer client.Close()
	if err := kafka.EnsureTopics(ctx, client, kafka.TopicShape{Partitions: partitions, Replication: 1}, s.topics.All()...); err != nil {
		return err
	}
	if s.options.Broker != "" {
		s.later(func() { s.deleteTopics(context.WithoutCancel(ctx)) })
	}
	return nil
}

func (s *stage) deleteTopics(ctx context.Context) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...))
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = kadm.NewClient(client).DeleteTopics(ctx, s.topics.All()...)
}

// startProviders runs two providers that share their faults. The second one
// ignores keys, and so does the first one when it is sabotaged.
func (s *stage) startProviders(ctx context.Context) error {
	for _, account := range []string{withKeys, withoutKeys} {
		faults := ordinaryFaults()
		if account == withoutKeys || s.options.Sabotage == FalseCapabilities {
			faults.Keys = pspsim.KeysOff
		}
		if s.options.Sabotage == FalseCapabilities {
			faults.Rates.Pending = 0 // nobody could ask how it went on
		}
		server, err := pspsim.New(pspsim.Options{Seed: s.options.Seed, Faults: faults})
		if err != nil {
			return err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("starting a provider: %w", err)
		}
		serving, stop := context.WithCancel(context.WithoutCancel(ctx))
		var done sync.WaitGroup
		done.Go(func() { _ = pspsim.Serve(serving, listener, server) })
		s.later(func() {
			stop()
			done.Wait()
		})
		s.providers[account], s.urls[account] = server, "http://"+listener.Addr().String()
	}
	return nil
}

func (s *stage) createMerchants(ctx context.Context) error {
	directory := merchant.NewDirectory(s.pool)
	for _, account := range []string{withKeys, withoutKeys} {
		_, key, err := directory.Create(ctx, "Merchant of "+account, account)
		if err != nil {
			return err
		}
		s.apiKeys[account] = key
	}
	return nil
}

func (s *stage) startServices(ctx context.Context) error {
	addr, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	s.httpAddr = addr
	connector := "simulated"
	if s.options.Sabotage == FalseCapabilities {
		connector = "simulated-keysonly"
	}
	s.children = &children{program: s.options.Program, log: s.options.Log, environ: append(cleanEnviron(os.Environ()),
		"PAYONCE_DATABASE_URL="+s.database.AppURL,
		"PAYONCE_KAFKA_BROKERS="+strings.Join(s.brokers, ","),
		"PAYONCE_TOPIC_PREFIX="+s.prefix,
		"PAYONCE_HTTP_ADDR="+s.httpAddr,
		"PAYONCE_PROVIDER="+withKeys+"="+connector+","+withoutKeys+"=simulated-nokeys",
		"PAYONCE_PROVIDER_URL="+s.urls[withKeys]+","+s.urls[withoutKeys],
		"PAYONCE_PROVIDER_TIMEOUT="+providerTimeout.String(),
		"PAYONCE_LEASE="+lease.String(),
		"PAYONCE_LOG_LEVEL=error",
	)}
	s.later(s.children.stopAll)
	return s.children.startAll(ctx, "intake", "relay", "relay", "worker", "worker", "reconciler")
}

// startConsumers runs billing, which has a database of its own, and the witness,
// which writes down what is on the topics.
func (s *stage) startConsumers(ctx context.Context) error {
	var err error
	if s.witness, err = startWitness(ctx, s.brokers, s.topics); err != nil {
		return err
	}
	s.later(s.witness.stop)
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	failed := make(chan error, 1)
	done.Go(func() {
		failed <- billing.Run(running, billing.Config{
			DatabaseURL: s.billing.OwnerURL, Brokers: s.brokers, TopicPrefix: s.prefix, Log: s.options.Log,
		})
	})
	s.later(func() {
		stop()
		done.Wait()
		if err := <-failed; err != nil && !errors.Is(err, context.Canceled) {
			fmt.Fprintln(s.options.Out, "billing:", err)
		}
	})
	return nil
}
