package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// callers post side by side.
	callers = 64
	// repeatedShare of the requests are sent again after their answer, and
	// doubledShare twice at the same time, as by a double click.
	repeatedShare = 0.10
	doubledShare  = 0.05
	// retriesMax bounds how often a caller repeats what was not answered.
	retriesMax = 50
	retryPause = 100 * time.Millisecond
)

// load is what the callers did and got.
type load struct {
	requests atomic.Int64
	mu       sync.Mutex
	accepted map[uuid.UUID]order
	byKey    map[string]uuid.UUID
	unequal  int // P6: repeats that got another payment
}

// order is one payment that a caller wanted.
type order struct {
	account, key string
	body         string
}

type reply struct {
	status   int
	body     []byte
	replayed bool
}

// load posts all payments and returns once each has been answered.
func (s *stage) load(ctx context.Context) (*load, error) {
	l := &load{accepted: make(map[uuid.UUID]order, s.options.Payments), byKey: make(map[string]uuid.UUID, s.options.Payments)}
	client := &http.Client{
		Timeout:   30 * time.Second,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers, MaxConnsPerHost: 2 * callers},
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var calling sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for i := range work {
				if err := s.pay(ctx, client, l, i); err != nil {
					cancel(err)
					return
				}
				s.progress.posted.Add(1)
			}
		})
	}
	for i := range s.options.Payments {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	calling.Wait()
	return l, context.Cause(ctx)
}

// pay wants one payment, like a client that is not sure of its answers.
func (s *stage) pay(ctx context.Context, client *http.Client, l *load, i int) error {
	o := s.order(i)
	chance := rand.New(rand.NewPCG(s.options.Seed, uint64(i))).Float64() //nolint:gosec // repeats runs, guards nothing
	doubled := make(chan error, 1)
	if chance < doubledShare {
		go func() { doubled <- s.post(ctx, client, l, o) }()
	} else {
		doubled <- nil
	}
	err := s.post(ctx, client, l, o)
	if other := <-doubled; err == nil {
		err = other
	}
	if err == nil && chance > 1-repeatedShare {
		err = s.post(ctx, client, l, o)
	}
	return err
}

func (s *stage) order(i int) order {
	o := order{account: withKeys, key: fmt.Sprintf("demo-%d-%d", s.options.Seed, i)}
	if i%2 == 1 {
		o.account = withoutKeys
	}
	o.body = fmt.Sprintf(`{"invoiceId":"INV-%d","paymentType":"invoice","amount":"%d.%02d","currency":"TRY","paymentMethod":"tok_visa"}`,
		i, 1+i%500, i%100)
	return o
}

// post sends a request until it is answered, with the same key each time.
func (s *stage) post(ctx context.Context, client *http.Client, l *load, o order) error {
	for range retriesMax {
		r, err := s.request(ctx, client, o)
		l.requests.Add(1)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && (r.status == http.StatusAccepted || r.status == http.StatusCreated):
			return l.note(o, r)
		case err == nil && r.status != http.StatusServiceUnavailable && r.status != http.StatusConflict:
			return fmt.Errorf("request %s: status %d: %s", o.key, r.status, r.body)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("request %s was not answered in %d tries", o.key, retriesMax)
}

func (s *stage) request(ctx context.Context, client *http.Client, o order) (reply, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.httpAddr+"/v1/payments", strings.NewReader(o.body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+s.apiKeys[o.account])
	request.Header.Set("Idempotency-Key", o.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, body, response.Header.Get("Idempotent-Replayed") == "true"}, err
}

// note keeps the payment, and says when a key was answered with two of them.
func (l *load) note(o order, r reply) error {
	var answered struct{ ID uuid.UUID }
	if err := json.Unmarshal(r.body, &answered); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", o.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if first, repeated := l.byKey[o.key]; repeated && first != answered.ID {
		l.unequal++
	}
	l.byKey[o.key] = answered.ID
	l.accepted[answered.ID] = o
	return nil
}

// replayFinals asks again for some payments that are final, twice each, and
// returns how many were not answered with the same bytes.
func (s *stage) replayFinals(ctx context.Context, l *load) (different int, err error) {
	const sample = 50
	client := &http.Client{Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()
	asked := 0
	for _, o := range l.accepted {
		if asked++; asked > sample {
			break
		}
		first, err := s.request(ctx, client, o)
		if err != nil {
			return 0, err
		}
		second, err := s.request(ctx, client, o)
		if err != nil {
			return 0, err
		}
		if first.status != http.StatusCreated || second.status != first.status || !bytes.Equal(first.body, second.body) || !second.replayed {
			different++
		}
	}
	return different, nil
}
