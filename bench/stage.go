package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/leash"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/pspsim"
)

const (
	// account is the one provider account.
	account = "card"
	// merchantsCount share the load: keys of several merchants are beside each other.
	merchantsCount = 4
	// providerDelay is a provider that is not on this machine.
	providerDelay = 30 * time.Millisecond
	// readyPatience bounds the start of a service on a machine that is busy.
	readyPatience = 60 * time.Second
	probeInterval = 20 * time.Millisecond
	stopGrace     = 20 * time.Second
	// unlimited is a merchant's limit that no load of this machine reaches.
	unlimited = 100_000
)

// stage is the servers that a run stands on. Each part has a database of its own
// there.
type stage struct {
	options options
	server  *pgserver.Server
	brokers []string
	closers []func() // in the order in which things were started
}

func newStage(ctx context.Context, o options) (*stage, error) {
	s := &stage{options: o}
	server, err := pgserver.Start(ctx, pgserver.Options{Download: o.Download})
	if err != nil {
		return nil, err
	}
	s.server = server
	s.later(server.Stop)
	if o.Broker != "" {
		s.brokers = strings.Split(o.Broker, ",")
		return s, nil
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		s.close()
		return nil, fmt.Errorf("starting kfake: %w", err)
	}
	s.later(cluster.Close)
	s.brokers = cluster.ListenAddrs()
	return s, nil
}

func (s *stage) later(closer func()) { s.closers = append(s.closers, closer) }

func (s *stage) close() {
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
	s.closers = nil
}

// cell is one payonce: a database, and services that work on it.
type cell struct {
	pool    *pgxpool.Pool
	url     pgserver.Database
	environ []string
	base    string // of the API
	shops   []shop
}

// shop is a merchant.
type shop struct {
	merchant merchant.Merchant
	apiKey   string
}

// newCell makes a cell whose services are not started yet.
func (s *stage) newCell(ctx context.Context, name string) (*cell, error) {
	database, err := s.server.CreateDatabase(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := postgres.Migrate(ctx, database.OwnerURL); err != nil {
		return nil, err
	}
	c := &cell{url: database}
	if c.pool, err = postgres.Open(ctx, database.AppURL, postgres.PoolOptions{ConnsMax: 16, ApplicationName: "bench"}); err != nil {
		return nil, err
	}
	s.later(c.pool.Close)
	for i := range merchantsCount {
		opened, err := openShop(ctx, c.pool, fmt.Sprintf("Shop %d", i))
		if err != nil {
			return nil, err
		}
		c.shops = append(c.shops, opened)
	}
	return c, nil
}

// analyze gives the planner statistics of tables that were empty a moment ago. A plan
// made for empty tables may read all of a merchant's rows, and grows slower with them.
func (c *cell) analyze(ctx context.Context) error {
	owner, err := pgx.Connect(ctx, c.url.OwnerURL)
	if err != nil {
		return fmt.Errorf("analyzing: %w", err)
	}
	defer owner.Close(context.WithoutCancel(ctx))
	if _, err := owner.Exec(ctx, "ANALYZE"); err != nil {
		return fmt.Errorf("analyzing: %w", err)
	}
	return nil
}

// openShop creates a merchant whom no limit holds up.
func openShop(ctx context.Context, pool *pgxpool.Pool, name string) (shop, error) {
	created, key, err := merchant.NewDirectory(pool).Create(ctx, name, account)
	if err != nil {
		return shop{}, err
	}
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		why := merchant.Decision{By: "bench", Reason: "what is measured is not the limit"}
		_, err := merchant.Configure(ctx, tx, created.ID, why, func(settings *merchant.Settings) {
			settings.Limit = merchant.Limit{PerSecond: unlimited, Burst: unlimited}
		})
		return err
	})
	return shop{created, key}, err
}

// serve starts the cell's services, each a process of its own, with a provider in
// this one.
func (s *stage) serve(ctx context.Context, c *cell, services ...string) (*pspsim.Server, error) {
	provider, err := pspsim.New(pspsim.Options{Seed: s.options.Seed, Faults: pspsim.Faults{
		Rates: pspsim.Rates{DelayMS: int(providerDelay.Milliseconds())},
	}})
	if err != nil {
		return nil, err
	}
	providerURL, err := s.listen(ctx, provider)
	if err != nil {
		return nil, err
	}
	addr, err := freeAddr(ctx)
	if err != nil {
		return nil, err
	}
	c.base = "http://" + addr
	ours := func(variable string) bool { return strings.HasPrefix(variable, "PAYONCE_") }
	c.environ = append(slices.DeleteFunc(os.Environ(), ours),
		"PAYONCE_DATABASE_URL="+c.url.AppURL, "PAYONCE_KAFKA_BROKERS="+strings.Join(s.brokers, ","),
		"PAYONCE_TOPIC_PREFIX=bench-"+c.url.Name, "PAYONCE_HTTP_ADDR="+addr,
		"PAYONCE_PROVIDER="+account+"=simulated", "PAYONCE_PROVIDER_URL="+providerURL, "PAYONCE_LOG_LEVEL=error",
		"PAYONCE_RATE_LIMIT=0", // all of the load is one merchant's
	)
	if _, err := app.CreateTopics(ctx, c.environ, 0, 1); err != nil {
		return nil, err
	}
	for _, name := range services {
		if err := s.startService(ctx, c, name); err != nil {
			return nil, err
		}
	}
	return provider, nil
}

// listen serves the provider until the stage is closed, and returns its URL.
func (s *stage) listen(ctx context.Context, provider *pspsim.Server) (string, error) {
	listener, err := lifecycle.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("starting a provider: %w", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := pspsim.Serve(ctx, listener, provider); err != nil {
			fmt.Fprintf(os.Stderr, "bench: the provider: %v\n", err)
		}
	})
	s.later(func() {
		cancel()
		serving.Wait()
	})
	return "http://" + listener.Addr().String(), nil
}

func (s *stage) startService(ctx context.Context, c *cell, name string) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, which runs the services: %w", err)
	}
	admin, err := freeAddr(ctx)
	if err != nil {
		return err
	}
	command := exec.Command(program, "service", name)
	command.Env = append(slices.Clip(c.environ), "PAYONCE_ADMIN_ADDR="+admin)
	command.Stderr = os.Stderr // a file: what a service says at level error belongs to who measures
	process, err := leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: stopGrace})
	if err != nil {
		return err
	}
	s.later(process.Stop)
	return awaitReady(ctx, name, admin, process)
}

func awaitReady(ctx context.Context, name, admin string, process *leash.Process) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	ticker := time.NewTicker(probeInterval)
	defer ticker.Stop()
	for {
		missing := lifecycle.Probe(ctx, admin, "readyz")
		if missing == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-process.Ended():
			return fmt.Errorf("the %s ended", name)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("the %s is not ready: %w", name, missing), context.Cause(ctx))
		}
	}
}

// freeAddr is an address on loopback that was free a moment ago.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := lifecycle.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
