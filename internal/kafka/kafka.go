// Package kafka holds what every process of payonce says to Kafka in the same
// way.
//
//	relay, worker, payctl ──> options, topics ──> brokers
//
// A client that was made with Producer acknowledges a record only when all
// in-sync replicas have it, writes it once however often the client itself
// retries, and never gives a record up by itself: the record is acknowledged,
// refused by the broker, or still waiting.
package kafka

import (
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
)

const (
	// RecordBytesMax bounds key, value and headers of one record, well under the
	// broker's default limit of 1 MiB for a batch.
	RecordBytesMax = 512 << 10

	// bufferedRecordsMax and bufferedBytesMax bound what a producer holds that is
	// not acknowledged. The relay stays far below; they are the second line.
	bufferedRecordsMax = 32 << 10
	bufferedBytesMax   = 64 << 20

	// connIdleMax is below the ten minutes after which brokers close idle
	// connections, so that the first event after a quiet time does not wait for a
	// new one.
	connIdleMax = 9 * time.Minute
	// metadataAgeMin bounds how often a client asks who leads a partition, and
	// so how late it notices a new leader.
	metadataAgeMin = 500 * time.Millisecond
	// Between two tries at a broker that does not answer. The longest is what a
	// recovery may take longer than the broker's.
	backoffMin = 50 * time.Millisecond
	backoffMax = time.Second
)

// Config says which brokers, and as whom.
type Config struct {
	Brokers  []string // HOST:PORT
	ClientID string   // how brokers' logs and quotas name the process
	Log      *zap.Logger
}

// Options are the client options that all processes share.
func Options(c Config) []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(c.Brokers...),
		kgo.ClientID(c.ClientID),
		kgo.WithLogger(logger{c.Log}),
		kgo.ConnIdleTimeout(connIdleMax),
		kgo.MetadataMinAge(metadataAgeMin),
		kgo.RetryBackoffFn(backoff),
		// Brokers that collect clients' metrics (KIP-714) would be told ours once more
		// at the end, and a broker that is silent by then holds up the stop.
		kgo.DisableClientMetrics(),
	}
}

// Producer are the options of a client that publishes events: idempotent (the
// client's default), acknowledged by all in-sync replicas, partitioned by the
// record's key exactly as the Java client does.
//
// There is deliberately neither RecordDeliveryTimeout nor RecordRetries, and a
// produce context must never be canceled: giving up on a record that may have
// been sent makes room for an acknowledgement of something that was never
// written. A caller that cannot wait leaves the record to its promise.
func Producer() []kgo.Opt {
	return []kgo.Opt{
		kgo.RequiredAcks(kgo.AllISRAcks()),
		// The caller has its batch in hand; waiting for more only adds latency.
		kgo.ProducerLinger(0),
		kgo.RecordPartitioner(kgo.StickyKeyPartitioner(nil)),
		kgo.MaxBufferedRecords(bufferedRecordsMax),
		kgo.MaxBufferedBytes(bufferedBytesMax),
	}
}

// backoff is the wait before try number fails+1, jittered, so that processes
// that lost one broker do not return in step.
func backoff(fails int) time.Duration {
	wait := min(backoffMin<<min(fails, 10), backoffMax)
	return wait/2 + rand.N(wait/2)
}
