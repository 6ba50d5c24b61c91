package app

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/httpapi"
	"github.com/payonce/payonce/internal/kafkadoor"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/webhook"
	"github.com/payonce/payonce/pkg/event"
)

// intakeConnsMax leaves connections for reads and API keys beside the committers', the
// amendments', the webhooks', and the one that looks at what clients wait for.
const intakeConnsMax = accept.ConnsMax + accept.AmendmentsMax + webhook.StoresMax + kafkadoor.LookUpsMax + 1 + 8

// waitingStopWait is what giving up a look at the database takes, and more.
const waitingStopWait = 5 * time.Second

// Intake takes payments on over HTTP, and from Kafka where it is told to, until ctx
// ends. It calls no provider.
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
	refunds, err := refundable(c.Accounts)
	if err != nil {
		return fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	amendments := accept.NewAmendments(accept.AmendmentRules{
		Pool: r.pool, Topics: topicsOf(c.Topics), Source: event.Source(string(c.Cell)), KeyWindow: c.KeyWindow, Refundable: refunds,
	})
	waiting := httpapi.NewWaitingRoom(r.pool, log)
	api := httpapi.New(httpapi.Config{
		Pool: r.pool, Merchants: merchant.NewDirectory(r.pool), Committer: committer, Amendments: amendments, Waiting: waiting, Log: log,
		Webhooks: webhook.NewReceiver(r.pool, sources, time.Now, log),
		Limit:    merchant.Limit{PerSecond: c.RateLimit, Burst: c.Burst()},
	})
	server, err := httpapi.NewServer(api, log)
	if err != nil {
		return fmt.Errorf("making the HTTP server: %w", err)
	}
	server.RegisterOnShutdown(waiting.Close) // or a stop would wait for everyone who waits
	listener, err := lifecycle.Listen(ctx, string(c.HTTPAddr))
	if err != nil {
		return fmt.Errorf("PAYONCE_HTTP_ADDR: %w", err)
	}
	parts := append(kafkaDoor(c, r.pool, committer, log),
		lifecycle.Server("HTTP server", listener, server),
		lifecycle.Part{Name: "waiting room", Run: endless(waiting.Run), StopWait: waitingStopWait},
		committing("committer", committer.Run),
	)
	return r.run(ctx, nil, []zap.Field{zap.Stringer("http_addr", listener.Addr()), zap.Bool("kafka_door", c.KafkaDoor)}, parts...)
}
