package demo

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/eventschema"
	"github.com/payonce/payonce/pkg/event"
)

// witness writes down what is on the topics, as any consumer would see it.
type witness struct {
	client  *kgo.Client
	schemas *eventschema.Validator
	cancel  context.CancelFunc
	done    sync.WaitGroup

	mu      sync.Mutex
	order   map[uuid.UUID][]uuid.UUID // by payment: event ids on the events topic, first deliveries
	seen    map[uuid.UUID]int         // event id, on either topic: how often
	final   map[uuid.UUID]bool        // payments of which a final outcome was told
	invalid map[uuid.UUID]bool        // events that break their published schema
}

func startWitness(ctx context.Context, brokers []string, topics event.Topics) (*witness, error) {
	schemas, err := eventschema.NewValidator()
	if err != nil {
		return nil, fmt.Errorf("reading the events' schemas: %w", err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(brokers...), kgo.ConsumeTopics(topics.Requests, topics.Events),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, fmt.Errorf("watching the topics: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w := &witness{
		client: client, schemas: schemas, cancel: cancel,
		order: map[uuid.UUID][]uuid.UUID{}, seen: map[uuid.UUID]int{}, final: map[uuid.UUID]bool{}, invalid: map[uuid.UUID]bool{},
	}
	w.done.Go(func() {
		for running.Err() == nil {
			client.PollFetches(running).EachRecord(func(r *kgo.Record) { w.note(r, r.Topic == topics.Events) })
		}
	})
	return w, nil
}

func (w *witness) stop() {
	w.cancel()
	w.done.Wait()
	w.client.Close()
}

func (w *witness) note(r *kgo.Record, outcome bool) {
	headers := make([]event.Header, len(r.Headers))
	for i, h := range r.Headers {
		headers[i] = event.Header{Name: h.Key, Value: string(h.Value)}
	}
	received, err := event.Receive(r.Key, headers)
	if err != nil {
		return // shows as an event that never came
	}
	err = w.schemas.Validate(received.Type, r.Value)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		w.invalid[received.ID] = true
	}
	w.seen[received.ID]++
	if outcome && w.seen[received.ID] == 1 {
		w.order[received.Key] = append(w.order[received.Key], received.ID)
	}
	switch received.Type {
	case event.PaymentCaptured, event.PaymentFailed, event.PaymentCanceled:
		w.final[received.Key] = true
	default:
	}
}

// finals is of how many payments a final outcome was told.
func (w *witness) finals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.final)
}

// await waits until as many different events as told have been seen.
func (w *witness) await(ctx context.Context, told int) {
	ctx, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for w.distinct() < told {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return // the audit says what is missing
		}
	}
}

func (w *witness) distinct() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// invalids is how many events break their published schema, or have none.
func (w *witness) invalids() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.invalid)
}

// testify returns how often each event was delivered, and by payment the order of
// the outcome events' first deliveries.
func (w *witness) testify() (delivered map[uuid.UUID]int, order map[uuid.UUID][]uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen), maps.Clone(w.order)
}
