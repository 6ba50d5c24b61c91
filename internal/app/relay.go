package app

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/relay"
)

const (
	// relayConnsMax is one for each step and two for readiness.
	relayConnsMax = relay.Steps + 2
	// relayStopWait lets the steps in hand wait for their acks and commit.
	relayStopWait = relay.AckWaitMax + 12*time.Second
)

// Relay publishes the outbox to Kafka until ctx ends.
func Relay(ctx context.Context, c config.Relay, log *zap.Logger) error {
	r, err := open(ctx, "relay", c.Service, relayConnsMax, log)
	if err != nil {
		return err
	}
	defer r.close()
	client, err := kgo.NewClient(append(kafkaOptions("relay", c.Kafka, log), kafka.Producer()...)...)
	if err != nil {
		return fmt.Errorf("PAYONCE_KAFKA_BROKERS: %w", err)
	}
	defer client.Close()
	topics := topicsOf(c.Topics).All()
	publisher := relay.New(relay.Config{Topics: topics}, r.pool, client, log)
	return r.run(ctx, []lifecycle.Check{topicsCheck(client, topics)}, nil,
		lifecycle.Part{Name: "relay", Run: publisher.Run, StopWait: relayStopWait},
	)
}
