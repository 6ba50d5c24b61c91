package demo

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/examples/billing"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/pgserver"
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
	fail       context.CancelCauseFunc // ends the demo with a reason
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
	merchants  []uuid.UUID
	httpAddr   string
	witness    *witness
	children   *children
	closers    []func() // in the order in which things were started
}

func newStage(o Options, fail context.CancelCauseFunc) *stage {
	return &stage{
		options: o, fail: fail, progress: newProgress(o),
		providers: map[string]*pspsim.Server{}, urls: map[string]string{}, apiKeys: map[string]string{},
	}
}

// build starts everything, from the ground up.
func (s *stage) build(ctx context.Context) error {
	for _, start := range []func(context.Context) error{s.startDatabase, s.startBroker, s.startProviders, s.createMerchants} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(s.options.Out, "PostgreSQL %s, %s, two simulated providers (one without keys); seed %d\n", s.version, s.brokerName, s.options.Seed)
	if err := s.startServices(ctx); err != nil {
		return err
	}
	return s.startConsumers(ctx)
}

// later says how something that was just started is stopped.
func (s *stage) later(closer func()) { s.closers = append(s.closers, closer) }

// close stops everything, in the reverse order: nothing loses what it stands on.
func (s *stage) close() {
	s.progress.end()
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
}

// background runs a part of the demo in this process, until the stage is closed.
// Its error ends the demo.
func (s *stage) background(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			s.fail(fmt.Errorf("%s: %w", name, err))
		}
	})
	s.later(func() {
		cancel()
		running.Wait()
	})
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
		s.background(ctx, "provider "+account, func(ctx context.Context) error { return pspsim.Serve(ctx, listener, server) })
		s.providers[account], s.urls[account] = server, "http://"+listener.Addr().String()
	}
	return nil
}

func (s *stage) createMerchants(ctx context.Context) error {
	directory := merchant.NewDirectory(s.pool)
	for _, account := range []string{withKeys, withoutKeys} {
		created, key, err := directory.Create(ctx, "Merchant of "+account, account)
		if err != nil {
			return err
		}
		s.apiKeys[account] = key
		s.merchants = append(s.merchants, created.ID)
	}
	return nil
}

func (s *stage) startServices(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.httpAddr = addr
	connector := "simulated"
	if s.options.Sabotage == FalseCapabilities {
		connector = "simulated-keysonly"
	}
	s.children = &children{program: s.options.Program, fail: s.fail, environ: append(cleanEnviron(os.Environ()),
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
	s.background(ctx, "billing", func(ctx context.Context) error {
		return billing.Run(ctx, billing.Config{
			DatabaseURL: s.billing.OwnerURL, Brokers: s.brokers, TopicPrefix: s.prefix, Log: s.options.Log,
		})
	})
	return nil
}

// describe says how to look at what is left running.
func (s *stage) describe() {
	fmt.Fprintf(s.options.Out, "kept running until Ctrl-C:\n  API       http://%s\n  database  %s\n  Kafka     %s, topics %s.*\n",
		s.httpAddr, s.database.AppURL, strings.Join(s.brokers, ","), s.prefix)
	for account, url := range s.urls {
		fmt.Fprintf(s.options.Out, "  provider  %s, account %s; its merchant's API key is %s\n", url, account, s.apiKeys[account])
	}
}
