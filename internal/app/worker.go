package app

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/event"
)

const (
	// workerConnsMax is what the consumer, the due list, the applier and readiness
	// use at once, with room for outcomes that a split group commits one by one.
	workerConnsMax = 12
	// scheduleStopWait ends a look at the due list, consumerStopWait a step of the
	// consumer and its leaving of the group.
	scheduleStopWait = 5 * time.Second
	consumerStopWait = 12 * time.Second
	// drainAllowance is what attempts in flight may take beyond the provider's
	// timeouts of their two calls, for storing what came of them.
	drainAllowance = 5 * time.Second
	// consumeAgainWait is between two tries at a topic that lost records. Somebody
	// has to look, and is told each time.
	consumeAgainWait = 30 * time.Second
)

// Worker sends operations to providers until ctx ends. Then it claims no more,
// waits for the requests in flight and stores what came of them.
func Worker(ctx context.Context, c config.Worker, log *zap.Logger) error {
	r, err := open(ctx, "worker", c.Service, workerConnsMax, log)
	if err != nil {
		return err
	}
	defer r.close()
	served, err := connect(c.Providers)
	if err != nil {
		return fmt.Errorf("PAYONCE_PROVIDER: %w", err)
	}
	defer served.close()
	name, err := workerName(c)
	if err != nil {
		return err
	}
	applier := outcome.NewApplier(r.pool, publisher(c.Topics, c.Cell))
	sender, err := worker.New(worker.Config{Name: name, Accounts: served, Lease: c.Lease, Slots: c.Slots}, r.pool, applier, log)
	if err != nil {
		return fmt.Errorf("PAYONCE_LEASE, PAYONCE_PROVIDER_TIMEOUT: %w", err)
	}
	asking, err := kgo.NewClient(kafkaOptions("worker", c.Kafka, log)...)
	if err != nil {
		return fmt.Errorf("PAYONCE_KAFKA_BROKERS: %w", err)
	}
	defer asking.Close()
	consume := func(ctx context.Context) error { return sender.Consume(ctx, r.pool, feed(c, log)) }
	return r.run(ctx, []lifecycle.Check{topicsCheck(asking, topicsOf(c.Topics).All())}, []zap.Field{zap.String("worker", name)},
		lifecycle.Part{Name: "due list", Run: endless(sender.Schedule), StopWait: scheduleStopWait},
		lifecycle.Part{Name: "consumer", Run: consuming(consume, log), StopWait: consumerStopWait},
		draining(sender, 2*c.Timeout+drainAllowance),
		committing("applier", applier.Run),
	)
}

func feed(c config.Worker, log *zap.Logger) worker.Feed {
	return worker.Feed{Brokers: c.Brokers, Topics: topicsOf(c.Topics), Options: kafkaOptions("worker", c.Kafka, log)}
}

func publisher(topics config.Topics, cell config.Cell) outcome.Publisher {
	return outcome.Publisher{Topic: topicsOf(topics).Events, Source: event.Source(string(cell))}
}

// workerName is unique among workers that run, also on one host.
func workerName(c config.Worker) (string, error) {
	if c.Name != "" {
		return string(c.Name), nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming the worker; set PAYONCE_WORKER_NAME: %w", err)
	}
	return host + "-" + rand.Text()[:8], nil
}

// consuming goes on when records were lost: the due list gets every payment done
// without messages, and would end with the process.
func consuming(consume func(context.Context) error, log *zap.Logger) func(context.Context) error {
	return func(ctx context.Context) error {
		for ctx.Err() == nil {
			if err := consume(ctx); err != nil {
				log.Error("messages are not consumed; payments are sent from the due list only", zap.Error(err))
				lifecycle.Wait(ctx, consumeAgainWait)
			}
		}
		return nil
	}
}

// draining is the part that, at its turn to stop, waits for requests in flight.
// What is still in flight after that is found out by the reconciler.
func draining(sender *worker.Worker, patience time.Duration) lifecycle.Part {
	return lifecycle.Part{
		Name:     "requests in flight",
		StopWait: patience + time.Second,
		Run: func(ctx context.Context) error {
			<-ctx.Done()
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
			defer cancel()
			return sender.Drain(ctx)
		},
	}
}
