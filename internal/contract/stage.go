package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/pspsim"
)

const (
	// account is the one provider account.
	account = "card"
	// partitions of each topic; one worker is all that there is.
	partitions = 4
	// readyPatience bounds a service's start, on a loaded machine too.
	readyPatience = time.Minute
	// probeInterval is between two looks whether a service is ready.
	probeInterval = 20 * time.Millisecond
)

// stage is the pipeline with all that it stands on.
type stage struct {
	environ  []string // of the services
	httpAddr string
	apiKey   string
	broken   chan error // a part that ended
	closers  []func()   // in the order in which things were started
}

func (s *stage) build(ctx context.Context) error {
	s.broken = make(chan error, len(app.Services)+1)
	for _, step := range []func(context.Context) error{s.startDatabase, s.startBroker, s.startProvider, s.startServices, s.createMerchant} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// close stops everything, in the reverse order: nothing loses what it stands on.
func (s *stage) close() {
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
}

func (s *stage) startDatabase(ctx context.Context) error {
	server, err := pgserver.Start(ctx, pgserver.Options{})
	if err != nil {
		return err
	}
	s.closers = append(s.closers, server.Stop)
	database, err := server.CreateDatabase(ctx, "payonce_contract")
	if err != nil {
		return err
	}
	s.environ = append(s.environ, "PAYONCE_DATABASE_URL="+database.AppURL)
	return postgres.Migrate(ctx, database.OwnerURL)
}

func (s *stage) startBroker(ctx context.Context) error {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		return fmt.Errorf("starting kfake: %w", err)
	}
	s.closers = append(s.closers, cluster.Close)
	s.environ = append(s.environ, "PAYONCE_KAFKA_BROKERS="+cluster.ListenAddrs()[0])
	_, err = app.CreateTopics(ctx, s.environ, partitions, 1)
	return err
}

func (s *stage) startProvider(ctx context.Context) error {
	server, err := pspsim.New(pspsim.Options{})
	if err != nil {
		return err
	}
	listener, err := lifecycle.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("starting the provider: %w", err)
	}
	s.environ = append(s.environ, "PAYONCE_PROVIDER="+account+"=simulated", "PAYONCE_PROVIDER_URL=http://"+listener.Addr().String())
	s.background(ctx, "the provider", func(ctx context.Context) error { return pspsim.Serve(ctx, listener, server) })
	return nil
}

// startServices returns once all of them are ready.
func (s *stage) startServices(ctx context.Context) error {
	var err error
	if s.httpAddr, err = freeAddr(ctx); err != nil {
		return err
	}
	s.environ = append(s.environ, "PAYONCE_HTTP_ADDR="+s.httpAddr, "PAYONCE_LOG_LEVEL=error")
	for _, service := range app.Services {
		admin, err := freeAddr(ctx)
		if err != nil {
			return err
		}
		environ := append(slices.Clone(s.environ), "PAYONCE_ADMIN_ADDR="+admin)
		s.background(ctx, service.Name, func(ctx context.Context) error { return service.Run(ctx, environ) })
		if err := awaitReady(ctx, admin); err != nil {
			return fmt.Errorf("waiting for %s: %w", service.Name, err)
		}
	}
	return nil
}

func (s *stage) createMerchant(ctx context.Context) error {
	created, err := app.CreateMerchant(ctx, s.environ, "Contract", account)
	s.apiKey = created.APIKey
	return err
}

// background runs a part until the stage is closed. Its end before that ends the run.
func (s *stage) background(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		err := run(ctx)
		if ctx.Err() == nil {
			s.broken <- fmt.Errorf("%s ended: %w", name, err)
		}
	})
	s.closers = append(s.closers, func() {
		cancel()
		running.Wait()
	})
}

// awaitReady returns once a service says that it is.
func awaitReady(ctx context.Context, admin string) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, lifecycle.Probe(ctx, admin, "readyz") },
		backoff.WithBackOff(backoff.NewConstantBackOff(probeInterval)), backoff.WithMaxElapsedTime(readyPatience))
	return err
}

// freeAddr is an address on loopback that nothing listens on.
func freeAddr(ctx context.Context) (string, error) {
	listener, err := lifecycle.Listen(ctx, "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}
