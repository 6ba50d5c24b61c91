package kafka_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func newClient(t *testing.T, b testkit.Broker, more ...kgo.Opt) *kgo.Client {
	t.Helper()
	options := kafka.Options(kafka.Config{Brokers: b.Addrs, ClientID: "test", Log: zap.NewNop()})
	client, err := kgo.NewClient(append(options, more...)...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func TestTopicsAreCreatedOnceAndOnlyWithPartitionsThatSuitTheLanes(t *testing.T) {
	t.Parallel()
	broker := testkit.RealBroker(t)
	client := newClient(t, broker)
	topics := []string{broker.Topics.Events + ".one", broker.Topics.Events + ".two"}
	t.Cleanup(func() {
		_, err := kadm.NewClient(client).DeleteTopics(context.Background(), topics...)
		require.NoError(t, err)
	})
	for range 2 {
		require.NoError(t, kafka.EnsureTopics(t.Context(), client, kafka.TopicShape{}, topics...))
	}
	details, err := kadm.NewClient(client).ListTopics(t.Context(), topics...)
	require.NoError(t, err)
	require.Len(t, details[topics[0]].Partitions, kafka.PartitionsDefault)

	for _, partitions := range []int32{-1, 3, 12, 128} {
		err := kafka.EnsureTopics(t.Context(), client, kafka.TopicShape{Partitions: partitions}, "never")
		require.ErrorContains(t, err, "a power of two")
	}
}

func TestAnExistingTopicWithUnsuitablePartitionsIsReported(t *testing.T) {
	t.Parallel()
	broker := testkit.NewFakeBroker(t)
	client := newClient(t, broker)
	_, err := kadm.NewClient(client).CreateTopics(t.Context(), 12, 1, nil, "twelve")
	require.NoError(t, err)
	err = kafka.EnsureTopics(t.Context(), client, kafka.TopicShape{}, "twelve")
	require.ErrorContains(t, err, "topic twelve: a topic has a power of two of partitions, at most 64, not 12")
}

func TestMissingTopicsAreToldFromASilentBroker(t *testing.T) {
	t.Parallel()
	broker := testkit.NewFakeBroker(t)
	client := newClient(t, broker)
	missing, err := kafka.MissingTopics(t.Context(), client, append(broker.Topics.All(), "absent", "not a name")...)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"absent", "not a name"}, missing)

	broker.Fake.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err = kafka.MissingTopics(ctx, client, broker.Topics.Events)
	require.Error(t, err)
}

func TestAProducerIsIdempotentAndWaitsForAllReplicas(t *testing.T) {
	t.Parallel()
	client := newClient(t, testkit.NewFakeBroker(t), kafka.Producer()...)
	require.Equal(t, kgo.AllISRAcks(), client.OptValue(kgo.RequiredAcks))
	require.Equal(t, false, client.OptValue(kgo.DisableIdempotentWrite))
	require.Equal(t, time.Duration(0), client.OptValue(kgo.ProducerLinger))
	require.Equal(t, time.Duration(0), client.OptValue(kgo.RecordDeliveryTimeout), "no record is given up")
}

func TestTheClientsChatterIsDebugging(t *testing.T) {
	t.Parallel()
	broker := testkit.NewFakeBroker(t)
	core, logs := observer.New(zapcore.DebugLevel)
	options := kafka.Options(kafka.Config{Brokers: broker.Addrs, ClientID: "test", Log: zap.New(core)})
	client, err := kgo.NewClient(append(options, kafka.Producer()...)...)
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.ProduceSync(t.Context(), &kgo.Record{Topic: broker.Topics.Events, Value: []byte("x")}).FirstErr())
	require.NotZero(t, logs.Len())
	require.Zero(t, logs.Filter(func(e observer.LoggedEntry) bool { return e.Level > zapcore.DebugLevel }).Len())
}

func TestATopicThatExistsWithLessSafeSettingsIsReported(t *testing.T) {
	t.Parallel()
	broker := testkit.RealBroker(t)
	client := newClient(t, broker)
	admin := kadm.NewClient(client)
	loose, strict := broker.Topics.Events+".loose", broker.Topics.Events+".strict"
	t.Cleanup(func() {
		_, err := admin.DeleteTopics(context.Background(), loose, strict)
		require.NoError(t, err)
	})
	_, err := admin.CreateTopics(t.Context(), 16, 1, nil, loose)
	require.NoError(t, err)
	shape := kafka.TopicShape{BrokerTime: true, RecordBytesMax: kafka.RecordBytesMax}
	require.EqualError(t, kafka.EnsureTopics(t.Context(), client, shape, loose, strict),
		"topic "+loose+" exists with other settings: set max.message.bytes=524288,message.timestamp.type=LogAppendTime")

	shape.RecordBytesMax *= 2
	require.NoError(t, kafka.EnsureTopics(t.Context(), client, shape, strict), "stricter than asked")
}
