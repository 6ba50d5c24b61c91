// Package groupcommit lets requests that arrive together share a transaction.
//
//	many callers ──Do──> queue ──> one transaction ──> each caller's answer
//
// While one group commits, the next one collects: there is no timer and no added
// wait, an idle queue commits a group of one at once. Its promise: a request that
// fails fails alone. When a group fails, for whatever reason, each of its
// requests gets a transaction of its own and its own answer.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrStopped is returned to requests that were not taken up before Run ended.
var ErrStopped = errors.New("the committer has stopped")

// Settings bound the groups.
type Settings struct {
	GroupMax   int // requests in one transaction
	Committers int // transactions side by side
	QueueMax   int // requests that wait; Do blocks beyond it
	// GroupLockWait is short: one held row must not keep a whole group waiting.
	// AloneLockWait is what a request may wait for a lock by itself.
	GroupLockWait, AloneLockWait time.Duration
	// CommitWait bounds one transaction from its begin to its commit.
	CommitWait time.Duration
}

// Apply writes a group in the given transaction and answers each request, in
// the order in which they were given. It must have no effect outside of tx.
type Apply[In, Out any] func(ctx context.Context, tx pgx.Tx, group []In) ([]Out, error)

// Committer groups requests. Make it with New; Do works while Run does.
type Committer[In, Out any] struct {
	pool     *pgxpool.Pool
	settings Settings
	apply    Apply[In, Out]
	queue    chan *request[In, Out]
	stopped  chan struct{}
}

type request[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{}
}

// New returns a committer that writes with apply.
func New[In, Out any](pool *pgxpool.Pool, s Settings, apply Apply[In, Out]) *Committer[In, Out] {
	return &Committer[In, Out]{
		pool: pool, settings: s, apply: apply,
		queue: make(chan *request[In, Out], s.QueueMax), stopped: make(chan struct{}),
	}
}

// Do waits until in has been committed, or has failed alone, and returns its
// answer. When ctx ends first, Do returns its error, and the request may still be
// committed: ask again to find out. An error of the commit itself is as open.
func (c *Committer[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	var none Out
	r := &request[In, Out]{in: in, done: make(chan struct{})}
	select {
	case c.queue <- r:
	case <-c.stopped:
		return none, ErrStopped
	case <-ctx.Done():
		return none, ctx.Err()
	}
	select {
	case <-r.done:
		return r.out, r.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-c.stopped:
	}
	select {
	case <-r.done: // it was in the last group
		return r.out, r.err
	default:
		return none, ErrStopped
	}
}

// Run commits groups until ctx ends, then finishes what is queued and returns.
func (c *Committer[In, Out]) Run(ctx context.Context) {
	var committers sync.WaitGroup
	for range c.settings.Committers {
		committers.Go(func() { c.commitGroups(ctx) })
	}
	committers.Wait()
	close(c.stopped)
}

func (c *Committer[In, Out]) commitGroups(ctx context.Context) {
	for {
		select {
		case first := <-c.queue:
			c.commit(context.WithoutCancel(ctx), c.collect(first))
		case <-ctx.Done():
			select {
			case first := <-c.queue:
				c.commit(context.WithoutCancel(ctx), c.collect(first))
			default:
				return
			}
		}
	}
}

// collect takes what is there, without waiting for more.
func (c *Committer[In, Out]) collect(first *request[In, Out]) []*request[In, Out] {
	group := []*request[In, Out]{first}
	for len(group) < c.settings.GroupMax {
		select {
		case next := <-c.queue:
			group = append(group, next)
		default:
			return group
		}
	}
	return group
}

func (c *Committer[In, Out]) commit(ctx context.Context, group []*request[In, Out]) {
	lockWait := c.settings.GroupLockWait
	if len(group) == 1 {
		lockWait = c.settings.AloneLockWait
	}
	answers, err := c.transact(ctx, group, lockWait)
	if err != nil && len(group) > 1 {
		for i := range group {
			c.commit(ctx, group[i:i+1])
		}
		return
	}
	for i, r := range group {
		r.err = err
		if err == nil {
			r.out = answers[i]
		}
		close(r.done)
	}
}

func (c *Committer[In, Out]) transact(ctx context.Context, group []*request[In, Out], lockWait time.Duration) ([]Out, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.CommitWait)
	defer cancel()
	in := make([]In, len(group))
	for i, r := range group {
		in[i] = r.in
	}
	var out []Out
	err := pgx.BeginFunc(ctx, c.pool, func(tx pgx.Tx) error {
		if err := SetLockWait(ctx, tx, lockWait); err != nil {
			return err
		}
		var err error
		out, err = c.apply(ctx, tx, in)
		return err
	})
	if err == nil && len(out) != len(in) {
		return nil, fmt.Errorf("%d answers for %d requests", len(out), len(in))
	}
	return out, err
}

// SetLockWait bounds how long each statement of tx waits for a lock. Past it the
// statement fails with SQLSTATE 55P03.
func SetLockWait(ctx context.Context, tx pgx.Tx, wait time.Duration) error {
	if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", fmt.Sprintf("%dms", wait.Milliseconds())); err != nil {
		return fmt.Errorf("bounding lock waits: %w", err)
	}
	return nil
}
