package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// When the kills happen, as shares of the payments that were posted, and which
// messages are published once more.
const (
	killWorkerAt = 0.4
	killRelayAt  = 0.6
	repeatEach   = 40
)

// chaos kills a worker and a relay while payments are under way, and delivers
// some messages again, until the context ends.
func (s *stage) chaos(ctx context.Context) {
	go s.repeatMessages(ctx)
	for _, kill := range []struct {
		name string
		at   float64
	}{{"worker", killWorkerAt}, {"relay", killRelayAt}} {
		if !s.awaitPosted(ctx, int64(kill.at*float64(s.options.Payments))) {
			return
		}
		if err := s.children.killOne(ctx, kill.name); err != nil && ctx.Err() == nil {
			fmt.Fprintln(s.options.Out, "chaos:", err)
			return
		}
		s.progress.say("killed a " + kill.name + " (SIGKILL) and started another")
	}
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
func (s *stage) repeatMessages(ctx context.Context) {
	client, err := kgo.NewClient(kgo.SeedBrokers(s.brokers...), kgo.ConsumeTopics(s.topics.Requests),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		fmt.Fprintln(s.options.Out, "chaos:", err)
		return
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
}
