package inbox

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Headers of a dead letter, beside the original ones. They describe the latest
// refusal: those of an earlier one are replaced, so that a message which is
// redriven and refused again does not grow.
const (
	HeaderReason    = headerPrefix + "reason"    // a Reason
	HeaderDetail    = headerPrefix + "detail"    // for people, at most DetailBytesMax
	HeaderConsumer  = headerPrefix + "consumer"  // who refused it
	HeaderTopic     = headerPrefix + "topic"     // where it was read, with the two below
	HeaderPartition = headerPrefix + "partition" //
	HeaderOffset    = headerPrefix + "offset"    //
	// HeaderTimestamp is the record's timestamp, RFC 3339. Whoever puts the
	// message back must keep it, because the floor is compared with it.
	HeaderTimestamp = headerPrefix + "timestamp"

	headerPrefix = "dead-letter-"
)

// DetailBytesMax bounds HeaderDetail: an error's text can quote what it choked on.
const DetailBytesMax = 1000

// Reason is why a message was refused: a stable code that dead letters are grouped
// by.
type Reason string

// The reasons of this package. A consumer with a loop of its own may add others.
const (
	ReasonMalformed      Reason = "malformed"       // not the envelope of an event
	ReasonUnknownVersion Reason = "unknown-version" // a type that is handled, in a version that is not
	ReasonBelowFloor     Reason = "below-floor"     // see BelowFloor
	ReasonRejected       Reason = "rejected"        // the handler said Reject
)

// Refused is a record that its consumer can never use, and why.
type Refused struct {
	Record *kgo.Record
	Reason Reason
	Detail string
}

// DeadLetters publishes what a consumer refuses: the original value, key and
// headers, and why. It may be used by several goroutines.
type DeadLetters struct {
	client   *kgo.Client
	topic    string
	consumer string
	turn     chan struct{} // holds one token while records are on their way
}

// NewDeadLetters publishes to the topic in the consumer's name. The client must
// wait for all in-sync replicas (kgo's default). A dead letter is a little larger
// than the record it holds: the topic's max.message.bytes and the client's
// ProducerBatchMaxBytes must leave room above those of the topics read.
func NewDeadLetters(client *kgo.Client, topic, consumer string) *DeadLetters {
	return &DeadLetters{client: client, topic: topic, consumer: consumer, turn: make(chan struct{}, 1)}
}

// Publish returns nil when the broker has acknowledged every record. After an
// error some may have been published; do not advance past any of them, and publish
// all again. A dead letter may therefore be there twice, and is never missing.
func (d *DeadLetters) Publish(ctx context.Context, refused []Refused) error {
	if len(refused) == 0 {
		return nil
	}
	// A caller that gave up leaves records behind that the client still tries to
	// send. Its next attempt waits for their end, or a broker that is slow for an
	// hour would fill the memory with copies.
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("waiting for earlier dead letters to %s: %w", d.topic, context.Cause(ctx))
	}
	answers := &answers{left: len(refused), done: make(chan struct{})}
	for _, r := range refused {
		d.client.Produce(ctx, d.letter(r), func(_ *kgo.Record, err error) {
			if answers.add(err) {
				<-d.turn
			}
		})
	}
	select {
	case <-answers.done:
	case <-ctx.Done():
		return fmt.Errorf("publishing %d dead letters to %s: %w", len(refused), d.topic, context.Cause(ctx))
	}
	if answers.failed != nil {
		return fmt.Errorf("publishing %d dead letters to %s: %w", len(refused), d.topic, answers.failed)
	}
	return nil
}

func (d *DeadLetters) letter(r Refused) *kgo.Record {
	headers := make([]kgo.RecordHeader, 0, len(r.Record.Headers)+7)
	for _, h := range r.Record.Headers {
		if !strings.HasPrefix(h.Key, headerPrefix) {
			headers = append(headers, h)
		}
	}
	for _, h := range [][2]string{
		{HeaderReason, string(r.Reason)},
		{HeaderDetail, bounded(r.Detail)},
		{HeaderConsumer, d.consumer},
		{HeaderTopic, r.Record.Topic},
		{HeaderPartition, strconv.FormatInt(int64(r.Record.Partition), 10)},
		{HeaderOffset, strconv.FormatInt(r.Record.Offset, 10)},
		{HeaderTimestamp, r.Record.Timestamp.UTC().Format(time.RFC3339Nano)},
	} {
		headers = append(headers, kgo.RecordHeader{Key: h[0], Value: []byte(h[1])})
	}
	return &kgo.Record{Topic: d.topic, Key: r.Record.Key, Value: r.Record.Value, Headers: headers}
}

// bounded cuts the text and repairs the character that the cut may have split.
func bounded(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), DetailBytesMax)], "")
}

// answers collects the broker's answers to one Publish.
type answers struct {
	mu     sync.Mutex
	left   int
	failed error // the first error; to be read once done is closed
	done   chan struct{}
}

// add reports whether the answer was the last one.
func (a *answers) add(err error) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.failed == nil {
		a.failed = err
	}
	a.left--
	if a.left > 0 {
		return false
	}
	close(a.done)
	return true
}
