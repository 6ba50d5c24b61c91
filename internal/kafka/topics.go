package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	// PartitionsDefault is what a topic gets unless told otherwise.
	PartitionsDefault = 16
	// PartitionsMax is the number of lanes of the outbox: with more partitions a
	// lane would span several of them.
	PartitionsMax = 64
	// newTopicWait is between two looks for a topic that was just created.
	newTopicWait = 20 * time.Millisecond
)

// TopicShape is how a topic is made.
type TopicShape struct {
	Partitions  int32 // a power of two, at most PartitionsMax; 0 means PartitionsDefault
	Replication int16 // copies of each partition; 0 leaves it to the broker
	// BrokerTime makes the records' timestamps the brokers' own: who writes to the
	// topic cannot choose them.
	BrokerTime bool
	// RecordBytesMax bounds a record, so that a dead letter around it and an answer
	// with its key still fit; 0 leaves it to the broker.
	RecordBytesMax int
}

func (s TopicShape) check() error {
	if s.Partitions < 1 || s.Partitions > PartitionsMax || s.Partitions&(s.Partitions-1) != 0 {
		return fmt.Errorf("a topic has a power of two of partitions, at most %d, not %d", PartitionsMax, s.Partitions)
	}
	return nil
}

func (s TopicShape) settings() map[string]*string {
	settings := map[string]*string{}
	if s.Replication >= 3 {
		// An acknowledged record survives the loss of any one broker.
		settings[settingReplicas] = new("2")
	}
	if s.BrokerTime {
		settings[settingTimestamp] = new("LogAppendTime")
	}
	if s.RecordBytesMax > 0 {
		settings[settingBytes] = new(strconv.Itoa(s.RecordBytesMax))
	}
	return settings
}

// EnsureTopics creates the topics that are missing and returns when the brokers
// know all of them. A topic that exists keeps its settings, and is an error when
// its partitions do not suit the outbox or the shape asks for safer settings.
func EnsureTopics(ctx context.Context, client *kgo.Client, shape TopicShape, topics ...string) error {
	if shape.Partitions == 0 {
		shape.Partitions = PartitionsDefault
	}
	if err := shape.check(); err != nil {
		return err
	}
	replication := int16(-1)
	if shape.Replication > 0 {
		replication = shape.Replication
	}
	admin := kadm.NewClient(client)
	created, err := admin.CreateTopics(ctx, shape.Partitions, replication, shape.settings(), topics...)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	for _, t := range created.Sorted() {
		if t.Err != nil && !errors.Is(t.Err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("creating topic %s: %w: %s", t.Topic, t.Err, t.ErrMessage)
		}
	}
	if err := checkTopics(ctx, admin, topics); err != nil {
		return err
	}
	return shape.checkSettings(ctx, admin, topics)
}

// checkTopics looks at what is there, be it created now or earlier. A broker
// hears of a new topic a moment after the controller created it.
func checkTopics(ctx context.Context, admin *kadm.Client, topics []string) error {
	for {
		details, err := admin.ListTopics(ctx, topics...)
		if err != nil {
			return fmt.Errorf("looking at topics: %w", err)
		}
		err = checkDetails(details)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(newTopicWait):
		}
	}
}

func checkDetails(details kadm.TopicDetails) error {
	for _, t := range details.Sorted() {
		if t.Err != nil {
			return fmt.Errorf("looking at topic %s: %w", t.Topic, t.Err)
		}
		partitions := int32(len(t.Partitions)) //nolint:gosec // Kafka counts them in an int32
		if err := (TopicShape{Partitions: partitions}).check(); err != nil {
			return fmt.Errorf("topic %s: %w", t.Topic, err)
		}
	}
	return nil
}

// MissingTopics asks the brokers which of the topics do not exist. It is an error
// when no broker answers before ctx is done, and says nothing about topics then.
func MissingTopics(ctx context.Context, client *kgo.Client, topics ...string) ([]string, error) {
	request := kmsg.NewPtrMetadataRequest()
	request.AllowAutoTopicCreation = false
	for _, name := range topics {
		topic := kmsg.NewMetadataRequestTopic()
		topic.Topic = new(name)
		request.Topics = append(request.Topics, topic)
	}
	response, err := request.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("asking for topics: %w", err)
	}
	var missing []string
	for _, t := range response.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.InvalidTopicException) {
			missing = append(missing, *t.Topic)
		}
	}
	return missing, nil
}
