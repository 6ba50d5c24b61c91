// Package app puts the parts of each process together.
//
//	environment ──config──> Intake, Relay, Worker, Reconciler ──lifecycle──> until a signal
//
// There is one file per process, and nothing in it but wiring: what is opened, what
// is handed to whom, and in which order the parts stop. A process opens only what
// it needs, checks it before it serves, and closes what it opened.
package app

import (
	"context"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/telemetry"
)

// The exit codes of all programs. Scripts branch on them, so they do not change.
const (
	ExitOK            = 0
	ExitFailed        = 1 // it was tried and failed, or a promise is broken
	ExitUsage         = 2 // the command line is not understood
	ExitConfiguration = 3 // the environment has to be corrected; nothing was tried
	ExitUnavailable   = 4 // the database or Kafka does not answer; try again
)

// ErrUnavailable says that a server did not answer.
var ErrUnavailable = errors.New("it does not answer")

// ExitCode is what a program ends with after err.
func ExitCode(err error) int {
	var configuration *config.Error
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &configuration):
		return ExitConfiguration
	case errors.Is(err, ErrUnavailable), postgres.IsUnavailable(err):
		return ExitUnavailable
	default:
		return ExitFailed
	}
}

// Service is one of the four long-running processes.
type Service struct {
	Name string
	// Check returns what is wrong with an environment, as an *config.Error.
	Check func(environ []string) error
	// Run works until ctx ends.
	Run func(ctx context.Context, environ []string) error
	// Health asks the service of this environment that runs on this machine; see
	// lifecycle.Probe.
	Health func(ctx context.Context, environ []string, what ...string) error
}

// Services are the long-running processes, in the order in which a payment meets
// them.
var Services = []Service{
	service("intake", Intake, checkIntake, checkWebhooks),
	service("relay", Relay),
	service("worker", Worker, checkWorker),
	service("reconciler", Reconciler, checkReconciler),
}

// Find returns the service of that name.
func Find(name string) (Service, bool) {
	for _, s := range Services {
		if s.Name == name {
			return s, true
		}
	}
	return Service{}, false
}

// Main runs the service until SIGINT or SIGTERM and returns its exit code. With the
// arguments `health [livez|readyz]` it asks the one that runs on this machine instead,
// as containers do: ExitOK is healthy and everything else is not.
func Main(name string, arguments ...string) int {
	s, ok := Find(name)
	if !ok {
		return ExitUsage
	}
	ctx, stop := lifecycle.Signals(context.Background())
	defer stop()
	var err error
	switch {
	case len(arguments) == 0:
		err = s.Run(ctx, os.Environ())
	case arguments[0] == "health" && len(arguments) <= 2:
		err = s.Health(ctx, os.Environ(), arguments[1:]...)
	default:
		fmt.Fprintf(os.Stderr, "%s takes no arguments, or health and livez or readyz\n", name)
		return ExitUsage
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	return ExitCode(err)
}

// settings are what every service has in its configuration.
type settings[C any] interface {
	config.Process[C]
	Common() config.Service
}

// service joins a process with the way in which it gets its configuration.
func service[C settings[C]](name string, run func(context.Context, C, *zap.Logger) error, checks ...func(C) []string) Service {
	return Service{
		Name: name,
		Check: func(environ []string) error {
			_, err := config.Load(environ, checks...)
			return err
		},
		Run: func(ctx context.Context, environ []string) error {
			c, err := config.Load(environ, checks...)
			if err != nil {
				return err
			}
			log, err := telemetry.NewLogger(name, string(c.Common().LogLevel))
			if err != nil {
				return err
			}
			defer func() { _ = log.Sync() }() // a terminal cannot be synced, and says so
			return run(ctx, c, log)
		},
		Health: func(ctx context.Context, environ []string, what ...string) error {
			c, err := config.Load(environ, checks...)
			if err != nil {
				return err
			}
			return lifecycle.Probe(ctx, string(c.Common().AdminAddr), what...)
		},
	}
}
