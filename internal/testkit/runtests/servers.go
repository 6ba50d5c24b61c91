package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/apachekafka"
)

// connectionsMax is enough for the pools of several packages on a machine with
// many processors.
const connectionsMax = "500"

// servers are what the tests are given. A server that the environment names is
// not in it.
type servers struct {
	postgres *pgserver.Server
	kafka    *apachekafka.Server
}

// start starts both side by side and puts them into the environment. They run
// until stop or until ctx is done; after an error, too, stop must be called.
func (s *servers) start(ctx context.Context) error {
	begin := time.Now()
	var group errgroup.Group
	group.Go(func() error { return s.startPostgres(ctx) })
	group.Go(func() error { return s.startKafka(ctx) })
	if err := group.Wait(); err != nil {
		return err
	}
	say("the servers are ready after %.1f s", time.Since(begin).Seconds())
	return nil
}

// stop stops what was started here and waits until it is gone.
func (s *servers) stop() {
	if s.kafka != nil {
		s.kafka.Stop()
	}
	if s.postgres != nil {
		s.postgres.Stop()
	}
}

func (s *servers) startPostgres(ctx context.Context) error {
	choice, err := testkit.ChosenPostgres()
	if err != nil {
		return err
	}
	if os.Getenv(testkit.DatabaseEnv) != "" {
		if choice != testkit.AnyPostgres {
			return fmt.Errorf("%s names a server and %s chooses another one: remove one of them", testkit.DatabaseEnv, testkit.PostgresEnv)
		}
		say("PostgreSQL: the one of %s", testkit.DatabaseEnv)
		return nil
	}
	server, err := pgserver.Start(ctx, pgserver.Options{
		Download: choice == testkit.DownloadedPostgres,
		Settings: map[string]string{"max_connections": connectionsMax},
	})
	if err != nil {
		return err
	}
	s.postgres = server
	say("PostgreSQL %d: started, process %d", server.MajorVersion(), server.PID())
	return os.Setenv(testkit.DatabaseEnv, server.URL())
}

func (s *servers) startKafka(ctx context.Context) error {
	if os.Getenv(testkit.BrokersEnv) != "" {
		say("Kafka: the one of %s", testkit.BrokersEnv)
		return nil
	}
	server, err := apachekafka.Start(ctx)
	if errors.Is(err, apachekafka.ErrUnavailable) && os.Getenv("CI") == "" {
		say("NO REAL KAFKA: tests that want one run on kfake instead (%v)", err)
		return nil
	}
	if err != nil {
		return err
	}
	s.kafka = server
	say("Kafka: Apache Kafka %s started, process %d", apachekafka.Version, server.PID())
	return os.Setenv(testkit.BrokersEnv, server.Addr())
}
