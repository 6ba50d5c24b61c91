package accept

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// AmendmentsMax is how many amendments have a connection at once, at most.
const AmendmentsMax = 4

// turns lets amendments in: AmendmentsMax at once, and one of a payment. Those of one
// payment wait for each other anyway, in the database, and each with a connection. The
// story without: a merchant refunds one payment from a hundred clients, and no payment is
// taken on until they are through.
type turns struct {
	slots chan struct{}

	mu       sync.Mutex
	payments map[uuid.UUID]*lane // those that somebody waits for or is at
}

// lane is one payment's, and is gone with the last who wants it.
type lane struct {
	turn chan struct{}
	want int
}

func newTurns() *turns {
	return &turns{slots: make(chan struct{}, AmendmentsMax), payments: map[uuid.UUID]*lane{}}
}

// enter waits for a turn at a payment, at most KeyWaitMax, and returns what ends it.
// Errors: ErrBusy, and that of the context.
func (t *turns) enter(ctx context.Context, payment uuid.UUID) (leave func(), err error) {
	late := time.NewTimer(KeyWaitMax)
	defer late.Stop()
	l := t.want(payment)
	if err := take(ctx, l.turn, late.C); err != nil {
		t.leaveLane(payment, l)
		return nil, fmt.Errorf("waiting for a turn at payment %s: %w", payment, err)
	}
	if err := take(ctx, t.slots, late.C); err != nil {
		<-l.turn
		t.leaveLane(payment, l)
		return nil, fmt.Errorf("waiting for a turn at any payment: %w", err)
	}
	return func() {
		<-t.slots
		<-l.turn
		t.leaveLane(payment, l)
	}, nil
}

func take(ctx context.Context, slots chan<- struct{}, late <-chan time.Time) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-late:
		return ErrBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *turns) want(payment uuid.UUID) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.payments[payment]
	if !ok {
		l = &lane{turn: make(chan struct{}, 1)}
		t.payments[payment] = l
	}
	l.want++
	return l
}

func (t *turns) leaveLane(payment uuid.UUID, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.want--; l.want == 0 {
		delete(t.payments, payment)
	}
}
