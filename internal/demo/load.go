package demo

import (
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

// load is what the clients did and got.
type load struct {
	client   *http.Client
	beside   func(func(context.Context) error) // runs what a client does beside the callers
	requests atomic.Int64
	tooLate  atomic.Int64 // cancels that were refused
	refused  atomic.Int64 // requests for more than was left
	unequal  atomic.Int64 // repeats that were answered with something else

	mu       sync.Mutex
	accepted map[uuid.UUID]order
	canceled map[uuid.UUID]bool   // payments that a client was told to be canceled
	refunds  map[uuid.UUID]call   // refunds that a client was answered, and its request
	answered map[string]uuid.UUID // payments by key, refunds by what their reference is in
}

func newLoad(payments int) *load {
	return &load{
		client:   newClient(),
		accepted: make(map[uuid.UUID]order, payments), answered: make(map[string]uuid.UUID, payments),
		canceled: map[uuid.UUID]bool{}, refunds: map[uuid.UUID]call{},
	}
}

// call is one request of a client, which is repeated under its key.
type call struct{ account, key, path, body string }

type reply struct {
	status   int
	body     []byte
	replayed bool
}

// load posts all payments and returns once each has been answered.
func (s *stage) load(ctx context.Context, l *load) error {
	work := make(chan int)
	var calling, showing sync.WaitGroup
	for range callers {
		calling.Go(func() {
			for i := range work {
				if err := s.pay(ctx, l, s.order(i)); err != nil {
					s.fail(err)
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
	return context.Cause(ctx)
}

func newClient() *http.Client {
	return &http.Client{
		Timeout:   requestPatience,
		Transport: &http.Transport{MaxIdleConnsPerHost: 2 * callers, MaxConnsPerHost: 2 * callers, DisableCompression: true},
	}
}

// pay wants one payment, like a client that is not sure of its answers and may not be
// sure of its wish either.
func (s *stage) pay(ctx context.Context, l *load, o order) error {
	err := together(1+o.doubled, func(int) error { return s.post(ctx, l, o) })
	if err == nil && o.repeated {
		err = s.post(ctx, l, o)
	}
	if err != nil {
		return err
	}
	id := l.paymentOf(o)
	if len(o.refunds) > 0 {
		l.beside(func(ctx context.Context) error { return s.giveBack(ctx, l, id, o) })
	}
	switch {
	case o.canceled && o.hesitates == 0:
		return s.cancel(ctx, l, id, o)
	case o.canceled:
		l.beside(func(ctx context.Context) error { return s.cancel(ctx, l, id, o) })
	}
	return nil
}

// together does something n times at the same moment, and returns what failed.
func together(n int, do func(i int) error) error {
	failed := make([]error, n)
	var doing sync.WaitGroup
	for i := range failed {
		doing.Go(func() { failed[i] = do(i) })
	}
	doing.Wait()
	return errors.Join(failed...)
}

func (s *stage) post(ctx context.Context, l *load, o order) error {
	r, err := s.insist(ctx, l, o.call)
	switch {
	case err != nil:
		return err
	case r.status == http.StatusAccepted || r.status == http.StatusCreated:
		return l.note(o, r)
	default:
		return r.unexpected(o.call)
	}
}

// insist sends a request until it is answered for good, with the same key each time.
func (s *stage) insist(ctx context.Context, l *load, c call) (reply, error) {
	for range retriesMax {
		r, err := s.request(ctx, l, c)
		switch {
		case ctx.Err() != nil:
			return reply{}, context.Cause(ctx)
		case err == nil && !r.mayRetry():
			return r, nil
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
		}
	}
	return reply{}, fmt.Errorf("request %s was not answered in %d tries", c.key, retriesMax)
}

// mayRetry reports whether the same request may succeed later: another one with its
// key is being worked on, there are too many, or the database is away.
func (r reply) mayRetry() bool {
	switch {
	case r.status == http.StatusTooManyRequests || r.status >= http.StatusInternalServerError:
		return true
	case r.status != http.StatusConflict:
		return false
	}
	var problem struct{ Retryable bool }
	return json.Unmarshal(r.body, &problem) == nil && problem.Retryable
}

func (r reply) unexpected(c call) error {
	return fmt.Errorf("request %s to %s: status %d: %s", c.key, c.path, r.status, r.body)
}

func (s *stage) request(ctx context.Context, l *load, c call) (reply, error) {
	l.requests.Add(1)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.httpAddr+c.path, strings.NewReader(c.body))
	if err != nil {
		return reply{}, err
	}
	request.Header.Set("Authorization", "Bearer "+s.apiKeys[c.account])
	request.Header.Set("Idempotency-Key", c.key)
	request.Header.Set("Content-Type", "application/json")
	response, err := l.client.Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return reply{response.StatusCode, body, response.Header.Get("Idempotent-Replayed") == "true"}, err
}

// note keeps the payment that a key was answered with.
func (l *load) note(o order, r reply) error {
	var answered struct{ ID uuid.UUID }
	if err := json.Unmarshal(r.body, &answered); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", o.key, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteID(o.key, answered.ID)
	l.accepted[answered.ID] = o
	return nil
}

// noteID says when one name was answered with two things. The caller holds mu.
func (l *load) noteID(name string, id uuid.UUID) {
	if first, repeated := l.answered[name]; repeated && first != id {
		l.unequal.Add(1)
	}
	l.answered[name] = id
}

func (l *load) paymentOf(o order) uuid.UUID {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered[o.key]
}
