package demo

import (
	"context"
	"encoding/json"
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
	final   map[uuid.UUID]*final      // payments, of which a final outcome was told or is waited for
	told    int                       // of them, those of which it was told
	refunds map[uuid.UUID]bool        // refunds of which a final outcome was told
	invalid map[uuid.UUID]bool        // events that break their published schema
}

// final is the first final outcome of a payment.
type final struct {
	is      event.Type // empty while it is waited for
	arrives chan struct{}
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
		order: map[uuid.UUID][]uuid.UUID{}, seen: map[uuid.UUID]int{}, invalid: map[uuid.UUID]bool{},
		final: map[uuid.UUID]*final{}, refunds: map[uuid.UUID]bool{},
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
		w.noteOutcome(received.Key, received.Type)
	case event.RefundCompleted, event.RefundFailed:
		var told struct{ RefundID uuid.UUID }
		if json.Unmarshal(r.Value, &told) == nil {
			w.refunds[told.RefundID] = true
		}
	default:
	}
}

func (w *witness) noteOutcome(id uuid.UUID, is event.Type) {
	if f := w.outcome(id); f.is == "" {
		f.is = is
		w.told++
		close(f.arrives)
	}
}

func (w *witness) outcome(id uuid.UUID) *final {
	if w.final[id] == nil {
		w.final[id] = &final{arrives: make(chan struct{})}
	}
	return w.final[id]
}

// awaitOutcome waits until it was told how a payment ended.
func (w *witness) awaitOutcome(ctx context.Context, id uuid.UUID) (captured bool, err error) {
	w.mu.Lock()
	f := w.outcome(id)
	w.mu.Unlock()
	select {
	case <-f.arrives:
		return f.is == event.PaymentCaptured, nil
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}

// finals is of how many payments a final outcome was told.
func (w *witness) finals() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told
}

// finalRefunds is of how many refunds it was told how they ended.
func (w *witness) finalRefunds() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.refunds)
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
