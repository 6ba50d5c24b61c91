package demo

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/payonce/payonce/examples/billing"
	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/pspsim"
)

// built are parts that the demo starts for itself: servers, and the services as
// processes of their own. Billing and the providers run in the demo's process.
type built struct {
	*stage
	database pgserver.Database
	billing  pgserver.Database
	children *children
}

func (b *built) prepare(ctx context.Context) error {
	b.providerTimeout = providerTimeout
	for _, start := range []func(context.Context) error{b.startDatabase, b.startBroker, b.startProviders} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *built) startProviders(ctx context.Context) error {
	for _, account := range accounts {
		server, err := pspsim.New(pspsim.Options{Seed: b.options.Seed})
		if err != nil {
			return err
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("starting a provider: %w", err)
		}
		b.background(ctx, "provider "+account, func(ctx context.Context) error { return pspsim.Serve(ctx, listener, server) })
		b.urls[account] = "http://" + listener.Addr().String()
	}
	return nil
}

func (b *built) run(ctx context.Context) error {
	if err := b.startServices(ctx); err != nil {
		return err
	}
	b.background(ctx, "billing", func(ctx context.Context) error {
		return billing.Run(ctx, billing.Config{
			DatabaseURL: b.billing.OwnerURL, Brokers: b.brokers, TopicPrefix: b.prefix, Log: b.options.Log,
		})
	})
	return nil
}

func (b *built) startServices(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	b.httpAddr = addr
	connector := "simulated"
	if b.options.Sabotage == FalseCapabilities {
		connector = "simulated-keysonly"
	}
	b.children = &children{program: b.options.Program, fail: b.fail, environ: append(cleanEnviron(os.Environ()),
		"PAYONCE_DATABASE_URL="+b.databaseURL,
		"PAYONCE_KAFKA_BROKERS="+strings.Join(b.brokers, ","),
		"PAYONCE_TOPIC_PREFIX="+b.prefix,
		"PAYONCE_HTTP_ADDR="+b.httpAddr,
		"PAYONCE_PROVIDER="+withKeys+"="+connector+","+withoutKeys+"=simulated-nokeys",
		"PAYONCE_PROVIDER_URL="+b.urls[withKeys]+","+b.urls[withoutKeys],
		"PAYONCE_PROVIDER_TIMEOUT="+providerTimeout.String(),
		"PAYONCE_LEASE="+lease.String(),
		"PAYONCE_LOG_LEVEL=error",
	)}
	b.later(b.children.stopAll)
	return b.children.startAll(ctx, "intake", "relay", "relay", "worker", "worker", "reconciler")
}

func (b *built) killOne(_ context.Context, service string) error { return b.children.killOne(service) }

func (b *built) startOne(_ context.Context, service string) error {
	_, err := b.children.start(service)
	return err
}

// intact has nothing to look for: a child that ends by itself ends the demo.
func (b *built) intact(context.Context) error { return nil }
