package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/reconcile"
)

const (
	// reconcilerConnsMax serves its loops, the appliers, and the looks and webhooks in
	// hand, which take a connection for a moment each.
	reconcilerConnsMax = 24
	// looksAllowance is what the looks in hand may take beyond the provider's
	// timeouts of their two questions.
	looksAllowance = 5 * time.Second
	// sweeperStopWait is for one step of a few milliseconds, whose statement is canceled.
	sweeperStopWait = time.Second
)

// Reconciler finds out what became of operations that nobody knows about, and sweeps
// old keys, until ctx ends. Then it finishes the looks in hand.
func Reconciler(ctx context.Context, c config.Reconciler, log *zap.Logger) error {
	r, err := open(ctx, "reconciler", c.Service, reconcilerConnsMax, log)
	if err != nil {
		return err
	}
	defer r.close()
	served, err := connect(c.Providers)
	if err != nil {
		return fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	defer served.close()
	publisher := publisher(c.Topics, c.Cell)
	applier := outcome.NewApplier(r.pool, publisher)
	reconciler := &reconcile.Reconciler{Pool: r.pool, Accounts: served, Publisher: publisher, Applier: applier, Log: log}
	events := reconcile.NewEvents(reconciler)
	parts := []lifecycle.Part{
		{Name: "reconciler", Run: endless(reconciler.Run), StopWait: 2*c.Timeout + looksAllowance},
		{Name: "webhooks", Run: endless(events.Run), StopWait: c.Timeout + looksAllowance},
		{Name: "key sweeper", Run: endless(idempotency.Sweeper{Pool: r.pool, Window: c.KeyWindow, Log: log}.Run), StopWait: sweeperStopWait},
		committing("webhooks' applier", events.RunApplier),
		committing("applier", applier.Run),
	}
	if c.DriftInterval > 0 {
		scanner := drift.Scanner{Pool: r.pool, Accounts: served, Applier: applier, Asker: reconciler, Interval: c.DriftInterval, Log: log}
		scan := lifecycle.Part{Name: "drift scan", Run: endless(scanner.Run), StopWait: c.Timeout + looksAllowance}
		parts = slices.Insert(parts, 0, scan) // it stops before what it uses
	}
	return r.run(ctx, nil, nil, parts...)
}
