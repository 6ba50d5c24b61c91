// Package relay carries events from the outbox to Kafka.
//
//	outbox ──lease lanes──> relay ──publish, ack──> Kafka
//	   ^                      │
//	   └───remove the rows────┘
//
// An event is removed only after the broker acknowledged it, so it is published
// at least once, with the same id each time. Events of a payment are published in
// the order of their commits, with any number of relays running: a relay holds
// the payment's lane, and hands over no event of a payment before the previous one
// was acknowledged. An event that can never be published is parked, and with it
// later ones of its payment; other payments go on.
//
// While Kafka does not take events no lane is locked and no transaction is open.
package relay

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/outbox"
)

const (
	// Steps run side by side: while one waits for the broker, another one reads
	// and a third one commits.
	Steps = 4
	// With a backlog four steps of sixteen lanes hold all 64 lanes.
	stepLanes = outbox.Lanes / Steps
	// stepRows is where larger batches stop paying.
	stepRows = 1024
	// stepBytes bounds a step's events in memory. They are there about three
	// times: as read, as records, and as the client's batches.
	stepBytes = 4 << 20

	// AckWaitMax is how long a step waits for the broker, and how long a relay
	// that is told to stop does. Its transaction keeps VACUUM from cleaning every
	// table meanwhile. Below the 15 s after which the server ends the transaction.
	AckWaitMax = 5 * time.Second
	// lookWaitMax and settleWaitMax bound the two round trips of a step.
	lookWaitMax   = 30 * time.Second
	settleWaitMax = 10 * time.Second
)

// Relay publishes the outbox of one database. Any number may run.
type Relay struct {
	outbox *outbox.Reader
	client *kgo.Client
	log    *zap.Logger

	// turn is held by the one step that looks for work. The others publish and
	// settle, or wait for the turn: so an idle relay costs one poll, not four.
	turn   chan struct{}
	pace   pace // of whoever holds the turn
	lanes  laneBook
	topics *topicBook
	gate   gate
	// flying counts records that the client has and that are neither acknowledged
	// nor refused.
	flying atomic.Int64
}

// Config is what a relay is told.
type Config struct {
	// Topics are those that must exist. While a broker that answers lacks one of
	// them, nothing is published. A row for any other topic that does not exist is
	// parked.
	Topics []string
}

// New returns a relay. The pool needs a connection for each of Steps; the client
// must have been made with kafka.Producer. Both stay the caller's to close, the
// client after Run has returned.
func New(config Config, pool *pgxpool.Pool, client *kgo.Client, log *zap.Logger) *Relay {
	r := &Relay{
		outbox: outbox.NewReader(pool),
		client: client,
		log:    log,
		turn:   make(chan struct{}, 1),
		pace:   newPace(),
		topics: newTopicBook(config.Topics),
	}
	r.gate.relay = r
	r.turn <- struct{}{}
	return r
}

// Run publishes until ctx is done. It then finishes the steps in hand, so that
// nothing is published twice for a plain stop, and frees all lanes; while the
// broker is down that takes AckWaitMax at most. It returns no error for trouble
// with the database or the broker: it says so in the log, and goes on when they
// are back: the error is always nil.
func (r *Relay) Run(ctx context.Context) error {
	var steps sync.WaitGroup
	for range Steps {
		steps.Go(func() {
			for r.step(ctx) {
			}
		})
	}
	steps.Wait()
	return nil
}

// step looks for work, does it, and reports whether to go on.
func (r *Relay) step(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-r.turn:
	}
	w := r.awaitWork(ctx)
	if w == nil {
		r.turn <- struct{}{}
		return false
	}
	if w.alone {
		defer func() { r.turn <- struct{}{} }()
	} else {
		r.turn <- struct{}{}
	}
	if _, err := r.do(ctx, w); err != nil {
		r.log.Error("removing published events failed; they may be published again", zap.Error(err))
	}
	return true
}

// RunOnce does at most one step and returns how many rows left the outbox. It
// does not wait for work; it is an error when the broker does not take events.
func (r *Relay) RunOnce(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-r.turn:
	}
	defer func() { r.turn <- struct{}{} }()
	w, err := r.findWork(ctx)
	if w == nil || err != nil {
		return 0, err
	}
	return r.do(ctx, w)
}

// work is a lease and how to publish it.
type work struct {
	lease *outbox.Lease
	alone bool // one row at a time, and nothing else meanwhile
}

// do publishes the rows and removes them. Neither is cut short by ctx: a step in
// hand is finished.
func (r *Relay) do(ctx context.Context, w *work) (int, error) {
	ctx = context.WithoutCancel(ctx)
	f := newFlight(r, w.lease.Rows)
	if w.alone {
		f.publishOneByOne(ctx)
	} else {
		f.publish(ctx)
	}
	r.conclude(f, w.alone)
	ctx, cancel := context.WithTimeout(ctx, settleWaitMax)
	defer cancel()
	err := w.lease.Settle(ctx, f.fates)
	if err != nil && !errors.Is(err, outbox.ErrRowsGone) {
		return 0, err
	}
	return f.gone(), err
}
