package app

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/httpapi"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/webhook"
	"github.com/payonce/payonce/pkg/event"
)

// intakeConnsMax leaves connections for reads and API keys beside the committers' and
// the webhooks'.
const intakeConnsMax = accept.ConnsMax + webhook.StoresMax + 8

// Intake takes payments on over HTTP until ctx ends. It knows neither Kafka nor a
// provider.
func Intake(ctx context.Context, c config.Intake, log *zap.Logger) error {
	judge, err := chargeable(c.Accounts)
	if err != nil {
		return fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	r, err := open(ctx, "intake", c.Service, intakeConnsMax, log)
	if err != nil {
		return err
	}
	defer r.close()
	committer := accept.NewCommitter(r.pool, accept.Rules{
		Topic: topicsOf(c.Topics).Requests, Source: event.Source(string(c.Cell)), Chargeable: judge,
		KeyWindow: c.KeyWindow,
	})
	sources, err := webhookSources(c, log)
	if err != nil {
		return fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	api := httpapi.New(httpapi.Config{
		Pool: r.pool, Merchants: merchant.NewDirectory(r.pool), Committer: committer, Log: log,
		Webhooks: webhook.NewReceiver(r.pool, sources, time.Now, log),
		Limit:    merchant.Limit{PerSecond: c.RateLimit, Burst: c.Burst()},
	})
	server, err := httpapi.NewServer(api, log)
	if err != nil {
		return fmt.Errorf("making the HTTP server: %w", err)
	}
	listener, err := lifecycle.Listen(ctx, string(c.HTTPAddr))
	if err != nil {
		return fmt.Errorf("PAYONCE_HTTP_ADDR: %w", err)
	}
	return r.run(ctx, nil, []zap.Field{zap.Stringer("http_addr", listener.Addr())},
		lifecycle.Server("HTTP server", listener, server),
		committing("committer", committer.Run),
	)
}
