// Command billing runs the example consumer.
//
//	BILLING_* ──> billing.Run
//
// SIGINT and SIGTERM let it finish the step in hand.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/caarlos0/env/v11"
	"go.uber.org/zap"

	"github.com/payonce/payonce/examples/billing"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	log := zap.Must(zap.NewProduction())
	err := run(ctx, log)
	stop()
	if err != nil {
		log.Error("billing ended", zap.Error(err))
		os.Exit(1)
	}
}

func run(ctx context.Context, log *zap.Logger) error {
	config, err := env.ParseAs[billing.Config]()
	if err != nil {
		return err
	}
	config.Log = log
	return billing.Run(ctx, config)
}
