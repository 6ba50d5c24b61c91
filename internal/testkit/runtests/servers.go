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
	"github.com/payonce/payonce/internal/testkit/containers"
)

// connectionsMax is enough for the pools of several packages on a machine with
// many processors.
const connectionsMax = "500"

var postgresSettings = map[string]string{"max_connections": connectionsMax}

// servers are what the tests are given. A server that the environment names is
// not in it.
type servers struct {
	stopPostgres, stopKafka func()
}

// start starts both side by side and puts them into the environment. They run
// until stop; after an error, too, stop must be called.
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
	for _, stop := range []func(){s.stopKafka, s.stopPostgres} {
		if stop != nil {
			stop()
		}
	}
}

func (s *servers) startPostgres(ctx context.Context) error {
	choice, err := testkit.ChosenPostgres()
	if err != nil {
		return err
	}
	if named, err := isNamed(testkit.DatabaseEnv, testkit.PostgresEnv); named || err != nil {
		return err
	}
	if choice == testkit.ContainerPostgres {
		return s.startPostgresContainer(ctx)
	}
	if choice == testkit.AnyPostgres && !pgserver.Installed() && containers.Check(ctx) == nil {
		return s.startPostgresContainer(ctx) // rather than a download
	}
	server, err := pgserver.Start(ctx, pgserver.Options{
		Download: choice == testkit.DownloadedPostgres,
		Settings: postgresSettings,
	})
	if err != nil {
		return err
	}
	s.stopPostgres = server.Stop
	say("PostgreSQL %d: started, process %d", server.MajorVersion(), server.PID())
	return os.Setenv(testkit.DatabaseEnv, server.URL())
}

func (s *servers) startPostgresContainer(ctx context.Context) error {
	server, err := containers.StartPostgres(ctx, postgresSettings)
	if err != nil {
		return err
	}
	s.stopPostgres = func() { stopContainer(ctx, server) }
	say("PostgreSQL: started, a container of %s", server.Image)
	return os.Setenv(testkit.DatabaseEnv, server.Addr)
}

func (s *servers) startKafka(ctx context.Context) error {
	choice, err := testkit.ChosenKafka()
	if err != nil {
		return err
	}
	if named, err := isNamed(testkit.BrokersEnv, testkit.KafkaEnv); named || err != nil {
		return err
	}
	if choice == testkit.ContainerKafka {
		return s.startKafkaContainer(ctx)
	}
	server, err := apachekafka.Start(ctx)
	if errors.Is(err, apachekafka.ErrUnavailable) {
		return s.startOtherKafka(ctx, err)
	}
	if err != nil {
		return err
	}
	s.stopKafka = server.Stop
	say("Kafka: Apache Kafka %s started, process %d", apachekafka.Version, server.PID())
	return os.Setenv(testkit.BrokersEnv, server.Addr())
}

// startOtherKafka is for a machine that cannot run Kafka itself, which reason says.
func (s *servers) startOtherKafka(ctx context.Context, reason error) error {
	switch {
	case containers.Check(ctx) == nil:
		return s.startKafkaContainer(ctx)
	case os.Getenv("CI") != "":
		return reason
	default:
		say("NO REAL KAFKA: tests that want one run on kfake instead (%v)", reason)
		return nil
	}
}

func (s *servers) startKafkaContainer(ctx context.Context) error {
	server, err := containers.StartKafka(ctx)
	if err != nil {
		return err
	}
	s.stopKafka = func() { stopContainer(ctx, server) }
	say("Kafka: started, a container of %s", server.Image)
	return os.Setenv(testkit.BrokersEnv, server.Addr)
}

// isNamed reports whether the environment names a server. To choose another one at
// the same time is an error: the tests would run on one that was not meant.
func isNamed(name, choice string) (bool, error) {
	if os.Getenv(name) == "" {
		return false, nil
	}
	if os.Getenv(choice) != "" {
		return true, fmt.Errorf("%s names a server and %s chooses another one: remove one of them", name, choice)
	}
	say("%s: the server that it names", name)
	return true, nil
}

func stopContainer(ctx context.Context, server *containers.Server) {
	if err := server.Stop(ctx); err != nil {
		say("removing the container of %s: %v", server.Image, err)
	}
}
