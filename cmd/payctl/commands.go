package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/app"
)

// usageError is a mistake on the command line that the parser cannot see.
type usageError struct{ error }

func exitCode(err error) int {
	if _, ok := errors.AsType[usageError](err); ok {
		return app.ExitUsage
	}
	return app.ExitCode(err)
}

type migrateCommand struct{}

// Run implements the command.
func (migrateCommand) Run(ctx context.Context, t terminal) error {
	if err := app.Migrate(ctx, t.environ); err != nil {
		return err
	}
	fmt.Fprintln(t.out, "the schema is up to date")
	return nil
}

type topicsCommand struct {
	Create topicsCreate `cmd:"" help:"Create the shared topics, or a merchant's, that are missing (PAYONCE_KAFKA_BROKERS, PAYONCE_TOPIC_PREFIX)."`
}

type topicsCreate struct {
	Partitions  int32 `default:"16" help:"Partitions of each topic: a power of two, at most 64."`
	Replication int16 `default:"0" help:"Copies of each partition; 3 in production. 0 leaves it to the broker."`
	// Nil: the shared topics.
	Merchant *uuid.UUID `placeholder:"ID" help:"The two topics of this merchant at the Kafka door, instead of the shared ones."`
}

// Run implements the command.
func (c topicsCreate) Run(ctx context.Context, t terminal) error {
	if c.Partitions < 1 || c.Replication < 0 {
		return usageError{errors.New("--partitions is a power of two up to 64, and --replication is not negative")}
	}
	topics, err := c.create(ctx, t.environ)
	if err != nil {
		return err
	}
	for _, topic := range topics {
		fmt.Fprintln(t.out, topic)
	}
	return nil
}

func (c topicsCreate) create(ctx context.Context, environ []string) ([]string, error) {
	if c.Merchant != nil {
		return app.CreateDoorTopics(ctx, environ, *c.Merchant, c.Partitions, c.Replication)
	}
	return app.CreateTopics(ctx, environ, c.Partitions, c.Replication)
}

type providerCommand struct {
	Explain providerExplain `cmd:"" help:"Say what a connector declares about its provider, and what follows from it."`
}

type providerExplain struct {
	Name string `arg:"" help:"A connector, as PAYONCE_PROVIDER names it."`
}

// Run implements the command.
func (c providerExplain) Run(t terminal) error {
	text, err := app.Explain(c.Name)
	if err != nil {
		return usageError{err}
	}
	fmt.Fprint(t.out, text)
	return nil
}

type configCommand struct {
	Check configCheck `cmd:"" help:"Say what each service would refuse about this environment. Nothing is connected to."`
}

type configCheck struct {
	Service []string `arg:"" optional:"" enum:"intake,relay,worker,reconciler" help:"Services to check; all without any."`
}

// Run implements the command.
func (c configCheck) Run(t terminal) error {
	var broken []error
	for _, service := range chosen(c.Service) {
		if err := service.Check(t.environ); err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", service.Name, err))
			continue
		}
		fmt.Fprintf(t.out, "%s: ok\n", service.Name)
	}
	return errors.Join(broken...)
}

func chosen(names []string) []app.Service {
	if len(names) == 0 {
		return app.Services
	}
	var services []app.Service
	for _, name := range names {
		service, _ := app.Find(name) // the parser knows the names
		services = append(services, service)
	}
	return services
}

type serviceCommand struct {
	Name string `arg:"" enum:"intake,relay,worker,reconciler" help:"The service."`
}

// Run implements the command.
func (c serviceCommand) Run(ctx context.Context, t terminal) error {
	service, _ := app.Find(c.Name) // the parser knows the names
	return service.Run(ctx, t.environ)
}
