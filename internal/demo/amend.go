package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// amending are the clients that come back to an accepted payment, beside the callers.
type amending struct {
	coming atomic.Int64 // those that have not finished
	wait   sync.WaitGroup
}

// beginAmending returns what lets a client come back, and what ends all of them, which may be
// called more than once.
func (s *stage) beginAmending(ctx context.Context) (beside func(func(context.Context) error), end func()) {
	ctx, cancel := context.WithCancel(ctx)
	beside = func(amend func(context.Context) error) {
		s.amending.coming.Add(1)
		s.amending.wait.Go(func() {
			defer s.amending.coming.Add(-1)
			if err := amend(ctx); err != nil && ctx.Err() == nil {
				s.fail(err)
			}
		})
	}
	return beside, func() {
		cancel()
		s.amending.wait.Wait()
	}
}

// cancel wants a payment canceled, twice with one key. It succeeds, or comes too late.
func (s *stage) cancel(ctx context.Context, l *load, id uuid.UUID, o order) error {
	select {
	case <-time.After(o.hesitates):
	case <-ctx.Done():
	}
	c := call{account: o.account, key: o.key + "-cancel", path: "/v1/payments/" + id.String() + "/cancel"}
	first, err := s.insist(ctx, l, c)
	switch {
	case err != nil:
		return err
	case first.status == http.StatusConflict:
		l.tooLate.Add(1)
		return nil
	case first.status != http.StatusOK:
		return first.unexpected(c)
	}
	l.mu.Lock()
	l.canceled[id] = true
	l.mu.Unlock()
	second, err := s.insist(ctx, l, c)
	if err == nil && (second.status != http.StatusOK || !bytes.Equal(first.body, second.body)) {
		l.unequal.Add(1)
	}
	return err
}

// giveBack wants refunds of a payment once it is captured, all at the same moment.
func (s *stage) giveBack(ctx context.Context, l *load, id uuid.UUID, o order) error {
	captured, err := s.witness.awaitOutcome(ctx, id)
	if err != nil || !captured {
		return err
	}
	var calls []call
	for _, r := range o.refunds {
		calls = append(calls, r.calls(id, o)...)
	}
	return together(len(calls), func(i int) error { return s.refund(ctx, l, calls[i]) })
}

// refund wants one refund. It is taken on, or too large for what is left, or another
// request under its reference was faster: then it hears of that one's refund.
func (s *stage) refund(ctx context.Context, l *load, c call) error {
	r, err := s.insist(ctx, l, c)
	if err != nil {
		return err
	}
	var answered struct {
		ID     uuid.UUID
		Refund struct{ ID uuid.UUID }
	}
	if err := json.Unmarshal(r.body, &answered); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", c.key, err)
	}
	switch {
	case r.status == http.StatusAccepted || r.status == http.StatusCreated:
		l.noteRefund(c, answered.ID)
		l.mu.Lock()
		l.refunds[answered.ID] = c
		l.mu.Unlock()
	case r.status == http.StatusConflict && answered.Refund.ID != uuid.Nil:
		l.noteRefund(c, answered.Refund.ID)
	case r.status == http.StatusUnprocessableEntity:
		l.refused.Add(1)
	default:
		return r.unexpected(c)
	}
	return nil
}

// noteRefund says when a reference was answered with two refunds. Requests under one
// reference have the same path and body.
func (l *load) noteRefund(c call, id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.noteID(c.path+c.body, id)
}

func (l *load) refundsTaken() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.refunds)
}
