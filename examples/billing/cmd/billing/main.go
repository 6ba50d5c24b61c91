// Command billing runs the example consumer.
//
//	BILLING_* ──> billing.Run
//
// SIGINT and SIGTERM let it finish the step in hand. `billing health readyz` asks
// the one that runs on this machine, for containers that hold nothing else.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/caarlos0/env/v11"
	"go.uber.org/zap"

	"github.com/payonce/payonce/examples/billing"
	"github.com/payonce/payonce/internal/lifecycle"
)

// stopWait lets billing end its transaction and leave its consumer group.
const stopWait = 15 * time.Second

type config struct {
	billing.Config
	// AdminAddr serves /livez and /readyz.
	AdminAddr string `env:"BILLING_ADMIN_ADDR" envDefault:"127.0.0.1:9090"`
}

func main() {
	ctx, stop := lifecycle.Signals(context.Background())
	log := zap.Must(zap.NewProduction())
	err := run(ctx, os.Args[1:], log)
	stop()
	if err != nil {
		log.Error("billing ended", zap.Error(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, log *zap.Logger) error {
	c, err := env.ParseAs[config]()
	switch {
	case err != nil:
		return err
	case len(arguments) == 0:
		c.Log = log
		return serve(ctx, c)
	case arguments[0] == "health":
		return lifecycle.Probe(ctx, c.AdminAddr, arguments[1:]...)
	default:
		return fmt.Errorf("%q is not understood: billing takes no arguments, or health and livez or readyz", arguments)
	}
}

func serve(ctx context.Context, c config) error {
	listener, err := lifecycle.Listen(ctx, c.AdminAddr)
	if err != nil {
		return fmt.Errorf("BILLING_ADMIN_ADDR: %w", err)
	}
	database := lifecycle.Check{Name: "database", Ask: func(ctx context.Context) error { return billing.Ready(ctx, c.Config) }}
	return lifecycle.Run(ctx,
		lifecycle.Part{Name: "billing", Run: func(ctx context.Context) error { return billing.Run(ctx, c.Config) }, StopWait: stopWait},
		lifecycle.Server("admin server", listener, lifecycle.Admin(database)),
	)
}
