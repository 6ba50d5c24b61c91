package relay

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/kafka"
)

const (
	// topicWaitMax is how long a topic may be missing before rows for it are
	// parked: it may just have been created, and not every broker has heard of it.
	topicWaitMax = 5 * time.Second
	// topicAskEvery bounds how often brokers are asked for missing topics.
	topicAskEvery = 250 * time.Millisecond
	// topicAnswerAge is how fresh the answer must be that parks a row.
	topicAnswerAge = time.Second
)

// topicBook knows which topics exist. A record for one that does not would stay
// with the client for seconds, and its lane with it; so the brokers are asked
// beforehand, outside of any transaction.
type topicBook struct {
	required []string

	mu    sync.Mutex
	state map[string]topicState
	asked time.Time
}

// topicState of a topic: unknown at first, then present or missing.
type topicState struct {
	present bool
	missing time.Time // since when; zero: never asked
	seen    time.Time // when a broker last said that it is missing
	wanted  time.Time // when a row for it was last met
}

func newTopicBook(required []string) *topicBook {
	b := &topicBook{required: required, state: map[string]topicState{}}
	for _, topic := range required {
		b.state[topic] = topicState{present: true} // the gate sees to it
	}
	return b
}

// find returns whether a record for the topic can be sent, and if not, whether
// the topic is known not to exist. A topic that is neither is asked for before the
// next step.
func (b *topicBook) find(topic string) (present, absent bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.state[topic]
	if s.present {
		return true, false
	}
	now := time.Now()
	s.wanted = now
	b.state[topic] = s
	absent = !s.missing.IsZero() && now.Sub(s.missing) >= topicWaitMax && now.Sub(s.seen) <= topicAnswerAge
	return false, absent
}

// doubt forgets that a topic is there. The required ones are the gate's.
func (b *topicBook) doubt(topic string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !slices.Contains(b.required, topic) {
		delete(b.state, topic)
	}
}

// ask learns about the topics that rows were seen for and that are not known to
// exist.
func (b *topicBook) ask(ctx context.Context, client *kgo.Client) error {
	open := b.open(time.Now())
	if len(open) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeWait)
	defer cancel()
	missing, err := kafka.MissingTopics(ctx, client, open...)
	if err != nil {
		return err
	}
	now := time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, topic := range open {
		s := b.state[topic]
		s.present, s.seen = !slices.Contains(missing, topic), now
		if s.present {
			s.missing = time.Time{}
		} else if s.missing.IsZero() {
			s.missing = now
		}
		b.state[topic] = s
	}
	return nil
}

// open returns the topics to ask for, or none when they were asked for just now.
func (b *topicBook) open(now time.Time) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.asked) < topicAskEvery {
		return nil
	}
	var open []string
	for topic, s := range b.state {
		switch {
		case s.present:
		case now.Sub(s.wanted) > topicWaitMax:
			delete(b.state, topic)
		default:
			open = append(open, topic)
		}
	}
	if len(open) > 0 {
		b.asked = now
	}
	return open
}
