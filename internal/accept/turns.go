package accept

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// AmendmentsMax is how many amendments have a connection at once, at most.
const AmendmentsMax = 4

// merchantTurns leaves half of the turns to others: without it one merchant's batch of
// refunds would have all of them for as long as it runs.
const merchantTurns = AmendmentsMax / 2

// ErrNoTurn says that too many cancels and refunds were at work for KeyWaitMax. Nothing
// was asked of the database.
var ErrNoTurn = errors.New("too many cancels and refunds are at work")

// turns lets amendments in: AmendmentsMax at once, merchantTurns of a merchant, and one of
// a payment. Those of one payment wait for each other anyway, in the database, and each
// with a connection. The story without: a merchant refunds one payment from a hundred
// clients, and no payment is taken on until they are through.
type turns struct {
	slots chan struct{}

	mu    sync.Mutex
	lanes map[any]*lane // those that somebody waits for or is at, by place or merchant
}

// place is a merchant's payment, as the merchant names it. Who names another merchant's
// payment is not in the way of its owner.
type place struct{ merchant, payment uuid.UUID }

// allOf names the lane of all payments of a merchant.
type allOf uuid.UUID

// lane is gone with the last who wants it.
type lane struct {
	turn chan struct{}
	want int
}

func newTurns() *turns {
	return &turns{slots: make(chan struct{}, AmendmentsMax), lanes: map[any]*lane{}}
}

// enter waits for a turn at a merchant's payment, at most KeyWaitMax, and returns what
// ends it. Errors: ErrNoTurn, and that of the context.
func (t *turns) enter(ctx context.Context, at place) (leave func(), err error) {
	late := time.NewTimer(KeyWaitMax)
	defer late.Stop()
	leavePayment, err := t.enterLane(ctx, at, 1, late.C)
	if err != nil {
		return nil, fmt.Errorf("waiting for a turn at payment %s: %w", at.payment, err)
	}
	leaveMerchant, err := t.enterLane(ctx, allOf(at.merchant), merchantTurns, late.C)
	if err != nil {
		leavePayment()
		return nil, fmt.Errorf("waiting for a turn of merchant %s: %w", at.merchant, err)
	}
	if err := take(ctx, t.slots, late.C); err != nil {
		leaveMerchant()
		leavePayment()
		return nil, fmt.Errorf("waiting for a turn of anybody: %w", err)
	}
	return func() {
		<-t.slots
		leaveMerchant()
		leavePayment()
	}, nil
}

func take(ctx context.Context, slots chan<- struct{}, late <-chan time.Time) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-late:
		return ErrNoTurn
	case <-ctx.Done():
		return ctx.Err()
	}
}

// enterLane waits until fewer than most are in a lane.
func (t *turns) enterLane(ctx context.Context, at any, most int, late <-chan time.Time) (leave func(), err error) {
	l := t.want(at, most)
	if err := take(ctx, l.turn, late); err != nil {
		t.unwant(at, l)
		return nil, err
	}
	return func() {
		<-l.turn
		t.unwant(at, l)
	}, nil
}

func (t *turns) want(at any, most int) *lane {
	t.mu.Lock()
	defer t.mu.Unlock()
	l, ok := t.lanes[at]
	if !ok {
		l = &lane{turn: make(chan struct{}, most)}
		t.lanes[at] = l
	}
	l.want++
	return l
}

func (t *turns) unwant(at any, l *lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.want--; l.want == 0 {
		delete(t.lanes, at)
	}
}
