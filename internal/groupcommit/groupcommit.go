// Package groupcommit lets requests that arrive together share a transaction.
//
//	many callers ──Do──> queue ──> one transaction ──> each caller's answer
//	                                  └── failed ──> a transaction each
//
// While one group commits, the next one collects: there is no timer and no added
// wait, an idle queue commits a group of one at once. Its promise: a request that
// fails fails alone, and one that has to wait keeps nobody else waiting. When a
// group cannot be written, each of its requests gets a transaction and an answer
// of its own.
package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/postgres"
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

// Committer groups requests. Make it with New; Do works while Run does. It uses
// up to Committers + 2 × LaneConns connections at once.
type Committer[In, Out any] struct {
	pool     *pgxpool.Pool
	settings Settings
	apply    Apply[In, Out]
	queue    chan *request[In, Out]
	stopped  chan struct{}
	looks    lane         // requests whose group failed
	waits    lane         // requests that met a held row
	took     atomic.Int64 // nanoseconds of the last group that was written
}

type request[In, Out any] struct {
	ctx  context.Context // the caller's: what nobody waits for any more is left out
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
		looks: newLane(), waits: newLane(),
	}
}

// Do waits until in has been committed, or has failed alone, and returns its
// answer. A lock that was not to be had for AloneLockWait is an error of
// postgres.IsLockConflict. So is a deadlock that two tries of the request have met, of
// which the second was alone; the third is the caller's. There are no serialization
// failures to repeat: all is READ COMMITTED. When ctx ends first, Do returns its error, and the
// request may still be committed: ask again to find out. An error of the commit
// itself is as open.
func (c *Committer[In, Out]) Do(ctx context.Context, in In) (Out, error) {
	out, err := c.inGroup(ctx, in)
	if errors.Is(err, errSplit) {
		out, err = c.look(ctx, in)
	}
	if postgres.IsLockConflict(err) {
		out, err = c.wait(ctx, in, err)
	}
	return out, err
}

// inGroup queues a request and waits for what becomes of its group.
func (c *Committer[In, Out]) inGroup(ctx context.Context, in In) (Out, error) {
	var none Out
	r := &request[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
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

// collect takes what is there, without waiting for more, and leaves out what
// nobody waits for any more.
func (c *Committer[In, Out]) collect(first *request[In, Out]) []*request[In, Out] {
	var group []*request[In, Out]
	for next := first; ; {
		if next.ctx.Err() == nil {
			group = append(group, next)
		}
		if len(group) == c.settings.GroupMax {
			return group
		}
		select {
		case next = <-c.queue:
		default:
			return group
		}
	}
}

// commit writes a group and answers its requests. From here on no caller's
// context counts: one that leaves must not take the others with it.
func (c *Committer[In, Out]) commit(ctx context.Context, group []*request[In, Out]) {
	if len(group) == 0 {
		return
	}
	began := time.Now()
	answers, err := c.transact(ctx, c.groupLockWait(), postgres.Column(group, func(r *request[In, Out]) In { return r.in }))
	if err == nil {
		c.took.Store(int64(time.Since(began)))
	}
	if len(group) > 1 && c.mayFailAlone(err) {
		err = errSplit
	}
	for i, r := range group {
		r.err = err
		if err == nil {
			r.out = answers[i]
		}
		close(r.done)
	}
}

// groupLockWait is GroupLockWait, and more while groups take long. Groups wait for
// each other's commits, and on a machine that is busy a commit outlasts any short
// wait: all groups would be split then, and the machine be busier still.
func (c *Committer[In, Out]) groupLockWait() time.Duration {
	const groups = 3 // the wait, in groups like the last one
	return max(c.settings.GroupLockWait, min(groups*time.Duration(c.took.Load()), c.settings.AloneLockWait))
}

// mayFailAlone reports whether one request can have failed the group. An outage
// fails them all, and so may a commit whose answer was lost: to write it again
// would not be to find out.
func (c *Committer[In, Out]) mayFailAlone(err error) bool {
	return err != nil && !postgres.IsUnavailable(err) && !errors.Is(err, context.DeadlineExceeded)
}

func (c *Committer[In, Out]) transact(ctx context.Context, lockWait time.Duration, in []In) ([]Out, error) {
	ctx, cancel := context.WithTimeout(ctx, c.settings.CommitWait)
	defer cancel()
	var out []Out
	err := pgx.BeginTxFunc(ctx, c.pool, BeginWithLockWait(lockWait), func(tx pgx.Tx) error {
		var err error
		if out, err = c.apply(ctx, tx, in); err == nil && len(out) != len(in) {
			err = fmt.Errorf("%d answers for %d requests", len(out), len(in)) // before the commit: nothing happened
		}
		return err
	})
	return out, err
}
