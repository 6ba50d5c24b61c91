package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// When the kills happen, as shares of the payments that were posted, and which
// messages are published once more.
const (
	killWorkerAt = 0.4
	killRelayAt  = 0.6
	repeatEach   = 20
)

// beginChaos makes the services suffer until the returned function is called,
// which may be more than once.
func (s *stage) beginChaos(ctx context.Context) (relent func()) {
	ctx, cancel := context.WithCancel(ctx)
	var suffering sync.WaitGroup
	for _, blow := range []func(context.Context) error{s.killServices, s.repeatMessages} {
		suffering.Go(func() {
			if err := blow(ctx); err != nil && !errors.Is(err, context.Canceled) {
				s.fail(err)
			}
		})
	}
	return func() {
		cancel()
		suffering.Wait()
	}
}

// killServices kills a worker and a relay while payments are under way.
func (s *stage) killServices(ctx context.Context) error {
	for _, kill := range []struct {
		name string
		at   float64
	}{{"worker", killWorkerAt}, {"relay", killRelayAt}} {
		if !s.awaitPosted(ctx, int64(kill.at*float64(s.options.Payments))) {
			return nil
		}
		if err := s.parts.killOne(ctx, kill.name); err != nil {
			return err
		}
		s.progress.say("killed a " + kill.name + " (SIGKILL)")
		if err := s.parts.startOne(ctx, kill.name); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) awaitPosted(ctx context.Context, count int64) bool {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for s.progress.posted.Load() < count {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// repeatMessages publishes some of the workers' messages again as they are, the
// way a replay does: same key, same id.
func (s *stage) repeatMessages(ctx context.Context) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(s.topics.Requests),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return fmt.Errorf("repeating messages: %w", err)
	}
	defer client.Close()
	seen := 0
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			seen++
			if seen%repeatEach == 0 {
				client.Produce(ctx, &kgo.Record{Topic: r.Topic, Key: r.Key, Value: r.Value, Headers: r.Headers}, nil)
			}
		})
	}
	return nil
}
