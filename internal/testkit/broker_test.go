package testkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/testkit"
)

func TestABrokerHasTheSharedTopicsWithSixteenPartitions(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func(testing.TB) testkit.Broker{"fake": testkit.NewFakeBroker, "real": testkit.RealBroker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			topics, err := kadm.NewClient(b.Client(t)).ListTopics(t.Context(), b.Topics.All()...)
			require.NoError(t, err)
			require.NoError(t, topics.Error())
			for _, topic := range b.Topics.All() {
				require.Len(t, topics[topic].Partitions, 16, topic)
			}
		})
	}
}

func TestABrokerCarriesRecordsAndTwoTestsDoNotMeetOnIt(t *testing.T) {
	t.Parallel()
	for name, newBroker := range map[string]func(testing.TB) testkit.Broker{"fake": testkit.NewFakeBroker, "real": testkit.RealBroker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, value := range []string{"first", "second"} {
				b := newBroker(t)
				sent := &kgo.Record{Topic: b.Topics.Events, Value: []byte(value)}
				require.NoError(t, b.Client(t).ProduceSync(t.Context(), sent).FirstErr())
				consumer := b.Client(t, kgo.ConsumeTopics(b.Topics.Events), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
				fetched := consumer.PollFetches(t.Context())
				require.NoError(t, fetched.Err())
				require.Equal(t, 1, fetched.NumRecords())
				require.Equal(t, value, string(fetched.Records()[0].Value))
			}
		})
	}
}
