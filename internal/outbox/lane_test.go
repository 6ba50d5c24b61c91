package outbox_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/outbox"
)

// The lane is the partition of a topic with 64 partitions, and with fewer the
// partition follows from the lane.
func TestR2_ALaneNeverSpansPartitions(t *testing.T) {
	t.Parallel()
	partitioner := kgo.StickyKeyPartitioner(nil).ForTopic("payonce.events")
	lanes := map[int16]int{}
	for range 20_000 {
		key, err := uuid.NewV7()
		require.NoError(t, err)
		lane := outbox.Lane(key)
		lanes[lane]++
		record := kgo.Record{Key: []byte(key.String())}
		for _, partitions := range []int{1, 2, 4, 8, 16, 32, 64} {
			require.Equal(t, partitioner.Partition(&record, partitions), int(lane)%partitions, "%s of %d partitions", key, partitions)
		}
	}
	require.Len(t, lanes, outbox.Lanes, "every lane is used")
}
