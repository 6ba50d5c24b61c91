package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/testkit/apachekafka"
	"github.com/payonce/payonce/pkg/event"
)

// BrokersEnv names the addresses, separated by commas, of a Kafka that is there
// for tests.
const BrokersEnv = "PAYONCE_TEST_KAFKA_BROKERS"

const (
	// partitions per topic, the default of a real deployment.
	partitions = 16
	// topicsWait bounds creating and deleting a test's topics on a real broker.
	topicsWait = 60 * time.Second
	// topicsInterval is between two looks whether the topics can be used yet.
	topicsInterval = 20 * time.Millisecond
)

// Broker is a Kafka with the shared topics of one test.
type Broker struct {
	Addrs  []string
	Topics event.Topics
	// Fake is set when the broker is kfake, to inject faults with.
	Fake *kfake.Cluster
}

// NewFakeBroker starts kfake, franz-go's broker in Go, for this test alone. Its
// topics have the default prefix. It has one node and throttles nothing.
func NewFakeBroker(t testing.TB) Broker {
	t.Helper()
	topics := event.TopicsWithPrefix("payonce")
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, topics.All()...))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return Broker{Addrs: cluster.ListenAddrs(), Topics: topics, Fake: cluster}
}

// RealBroker gives the test topics of its own on a real Apache Kafka: the one that
// PAYONCE_TEST_KAFKA_BROKERS names, else one started here, which needs a JVM of
// version 17 or newer and, the first time, Maven. Where they are missing the test
// runs on kfake and says so; with CI set it fails instead, so that a green CI
// means a real Kafka.
func RealBroker(t testing.TB) Broker {
	t.Helper()
	addrs, err := realBroker()
	if errors.Is(err, apachekafka.ErrUnavailable) && os.Getenv("CI") == "" {
		t.Logf("NO REAL KAFKA: %s runs on kfake instead (%v)", t.Name(), err)
		return NewFakeBroker(t)
	}
	require.NoError(t, err)
	b := Broker{Addrs: addrs, Topics: event.TopicsWithPrefix(uniqueName())}
	b.createTopics(t)
	return b
}

// Client returns a client of the broker that is closed when the test ends.
func (b Broker) Client(t testing.TB, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(b.Addrs...)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func (b Broker) createTopics(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), topicsWait)
	defer cancel()
	// Registered first, so that the topics are deleted while it is still open.
	admin := kadm.NewClient(b.Client(t))
	created, err := admin.CreateTopics(ctx, partitions, 1, nil, b.Topics.All()...)
	require.NoError(t, err)
	require.NoError(t, created.Error())
	require.NoError(t, b.awaitTopics(ctx, admin))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), topicsWait)
		defer cancel()
		deleted, err := admin.DeleteTopics(ctx, b.Topics.All()...)
		require.NoError(t, err)
		require.NoError(t, deleted.Error())
	})
}

// awaitTopics returns once each partition's leader knows it. Creating a topic is
// done when the controller has written it down, which the brokers hear of later.
func (b Broker) awaitTopics(ctx context.Context, admin *kadm.Client) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		offsets, err := admin.ListEndOffsets(ctx, b.Topics.All()...)
		return struct{}{}, errors.Join(err, offsets.Error())
	}, backoff.WithBackOff(backoff.NewConstantBackOff(topicsInterval)), backoff.WithMaxElapsedTime(topicsWait))
	if err != nil {
		return fmt.Errorf("waiting for the topics: %w", err)
	}
	return nil
}

var realBroker = shared(startBroker)

func startBroker(ctx context.Context) ([]string, error) {
	if addrs := os.Getenv(BrokersEnv); addrs != "" {
		return strings.Split(addrs, ","), nil
	}
	choice, err := ChosenKafka()
	if err != nil {
		return nil, err
	}
	if choice == ContainerKafka {
		return nil, errContainer(KafkaEnv)
	}
	server, err := apachekafka.Start(ctx)
	if err != nil {
		return nil, err
	}
	stopAtEnd(server.Stop)
	return []string{server.Addr()}, nil
}
