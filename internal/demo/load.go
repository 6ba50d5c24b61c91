package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// doubledShare several times at the same moment, as by a double click.
	repeatedShare = 0.10
	doubledShare  = 0.05
	doubledMore   = 2
	// retriesMax bounds how often a caller repeats what was not answered.
	retriesMax = 50
	retryPause = 100 * time.Millisecond
	// requestPatience bounds one request. What it leaves open is asked again.
	requestPatience = 15 * time.Second
)

// load is what the callers did and got.
type load struct {
	requests atomic.Int64
	mu       sync.Mutex
	accepted map[uuid.UUID]order
	byKey    map[string]uuid.UUID
	unequal  int // repeats that were answered with another payment
}

type reply struct {
	status   int
	body     []byte
	replayed bool
}

// load posts all payments and returns once each has been answered.
func (s *stage) load(ctx context.Context) (*load, error) {
	l := &load{accepted: make(map[uuid.UUID]order, s.options.Payments), byKey: make(map[string]uuid.UUID, s.options.Payments)}
	client := newClient()
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var calling, showing sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for i := range work {
				if err := s.pay(ctx, client, l, s.order(i)); err != nil {
					cancel(err)
					return
				}
				s.progress.posted.Add(1)
			}
		})
	}
	watching, posted := context.WithCancel(ctx)
	showing.Go(func() { s.follow(watching) })
	for i := 0; i < s.options.Payments && ctx.Err() == nil; i++ {
		select {
		case work <- i:
		case <-ctx.Done():
		}
	}
	close(work)
	calling.Wait()
	posted()
	showing.Wait()
	return l, context.Cause(ctx)
}

func newClient() *http.Client {
	return &http.Client{
		Timeout:   requestPatience,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers, MaxConnsPerHost: 2 * callers, DisableCompression: true},
	}
}

// pay wants one payment, like a client that is not sure of its answers.
func (s *stage) pay(ctx context.Context, client *http.Client, l *load, o order) error {
	failed := make([]error, 1+o.doubled)
	var asking sync.WaitGroup
	for i := range failed {
		asking.Go(func() { failed[i] = s.post(ctx, client, l, o) })
	}
	asking.Wait()
	err := errors.Join(failed...)
	if err == nil && o.repeated {
		err = s.post(ctx, client, l, o)
	}
	return err
}

// post sends a request until it is answered, with the same key each time.
func (s *stage) post(ctx context.Context, client *http.Client, l *load, o order) error {
	for range retriesMax {
		r, err := s.request(ctx, client, l, o)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil && (r.status == http.StatusAccepted || r.status == http.StatusCreated):
			return l.note(o, r)
		case err == nil && !mayRetry(r.status):
			return fmt.Errorf("request %s: status %d: %s", o.key, r.status, r.body)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return fmt.Errorf("request %s was not answered in %d tries", o.key, retriesMax)
}

// mayRetry reports whether the same request may succeed later: another one with its
// key is being worked on, there are too many, or the database is away.
func mayRetry(status int) bool {
	return status == http.StatusConflict || status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

func (s *stage) request(ctx context.Context, client *http.Client, l *load, o order) (reply, error) {
	l.requests.Add(1)
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

// replaysMax is how many final payments are asked for once more.
const replaysMax = 100

// replayFinals asks again for some payments that are final, twice each, and counts
// those that were not answered with the stored answer, byte for byte.
func (s *stage) replayFinals(ctx context.Context, l *load, final func(uuid.UUID) bool) error {
	client := newClient()
	defer client.CloseIdleConnections()
	asked := 0
	for id, o := range l.accepted {
		if !final(id) {
			continue
		}
		if asked++; asked > replaysMax {
			break
		}
		first, err := s.request(ctx, client, l, o)
		if err != nil {
			return err
		}
		second, err := s.request(ctx, client, l, o)
		if err != nil {
			return err
		}
		if !first.stored() || !second.stored() || !bytes.Equal(first.body, second.body) {
			l.unequal++
		}
	}
	return nil
}

// stored reports whether the reply is the answer that was kept for repeats.
func (r reply) stored() bool { return r.replayed && r.status == http.StatusCreated }
