package kafkadoor

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

const (
	// partitionsMax bounds the partitions that are worked on at once. Each has one
	// command in hand, and their commits are shared: this is about one group of accept's.
	partitionsMax = 64
	// stepWait is when a step takes up no more commands. What is left comes back at once.
	stepWait = 2 * time.Second
	// troubleWait is between two polls while Kafka has errors for us.
	troubleWait = time.Second
	// acksWait bounds the wait for the acknowledgements of a step.
	acksWait = 5 * time.Second
)

// serve polls and works in steps: answer, wait for the acknowledgements, mark. A crash
// between any two of them repeats and never loses.
func (d *Door) serve(ctx context.Context, client *kgo.Client) {
	letters := inbox.NewDeadLetters(client, event.TopicsWithPrefix(d.TopicPrefix).DeadLetters, consumer)
	for d.settled(ctx) {
		fetches := d.poll(ctx, client)
		if ctx.Err() == nil { // else what was fetched comes back: it is not marked
			d.step(ctx, client, letters, fetches)
		}
		client.AllowRebalance()
		if err := troubleOf(fetches); err != nil && ctx.Err() == nil {
			d.Log.Warn("the Kafka door cannot read", zap.Error(err))
			lifecycle.Wait(ctx, troubleWait)
		}
	}
}

// poll waits for commands, and no longer than for the next partition whose pause ends.
func (d *Door) poll(ctx context.Context, client *kgo.Client) kgo.Fetches {
	if next := d.holds.resume(client); !next.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, next)
		defer cancel()
	}
	return client.PollRecords(ctx, pollRecordsMax)
}

// troubleOf returns the first error that is neither the end of the wait nor lost
// records, which stop their partition only.
func troubleOf(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		if !errors.Is(e.Err, context.DeadlineExceeded) && !errors.Is(e.Err, context.Canceled) && !isLost(e.Err) {
			return e.Err
		}
	}
	return nil
}

func isLost(err error) bool {
	var gone *kgo.ErrDataLoss
	return errors.As(err, &gone) || errors.Is(err, kerr.OffsetOutOfRange)
}

// step answers what was polled, each partition in its order and by itself.
func (d *Door) step(ctx context.Context, client *kgo.Client, letters *inbox.DeadLetters, fetches kgo.Fetches) {
	d.reportLost(fetches)
	var stretches []*stretch
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		if len(p.Records) == 0 {
			return
		}
		at := place{p.Topic, p.Partition}
		d.lost.remove(at.String())
		s := &stretch{door: d, client: client, letters: letters, place: at, records: p.Records}
		if d.owed.has(at) {
			s.err = errOwed
		}
		stretches = append(stretches, s)
	})
	until := time.Now().Add(stepWait)
	slots := make(chan struct{}, partitionsMax)
	var working sync.WaitGroup
	for _, s := range stretches {
		slots <- struct{}{}
		working.Go(func() {
			defer func() { <-slots }()
			s.work(ctx, until)
		})
	}
	working.Wait()
	d.advance(ctx, stretches)
}

// reportLost says where commands were lost before the door had read them. The
// partition stands still until somebody has looked and set the group's offset.
func (d *Door) reportLost(fetches kgo.Fetches) {
	for _, e := range fetches.Errors() {
		if isLost(e.Err) && d.lost.add(place{e.Topic, e.Partition}.String()) {
			d.Log.Error("commands were lost before they were read: find out which, then reset the group's offset",
				zap.String("topic", e.Topic), zap.Int32("partition", e.Partition), zap.Error(e.Err))
		}
	}
}

// advance waits for the acknowledgements and marks each partition up to its first
// command that has none. From there the next poll begins.
func (d *Door) advance(ctx context.Context, stretches []*stretch) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), acksWait)
	defer cancel()
	held, first := 0, error(nil)
	for _, s := range stretches {
		if err := s.advance(ctx); err != nil {
			held, first = held+1, cmp.Or(first, err)
		}
	}
	if held > 0 {
		d.Log.Warn("commands wait", zap.Int("partitions", held), zap.NamedError("first_error", first))
	}
}

// settled waits while more answers are owed than the memory shall hold. It reports
// false when ctx ended.
func (d *Door) settled(ctx context.Context) bool {
	for ctx.Err() == nil && d.owed.count() > owedMax {
		lifecycle.Wait(ctx, pauseMin)
	}
	return ctx.Err() == nil
}
