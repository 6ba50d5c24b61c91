package groupcommit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// errSplit tells the requests of a group that failed to go on alone.
var errSplit = errors.New("the group could not be written")

const (
	// LaneConns is how many single requests of one lane are in a transaction at
	// once: enough to get through a split group, few enough to leave the
	// connections to the groups.
	LaneConns = 4
	// lookLockWait is for the first try alone. What kept the group waiting has
	// been held for GroupLockWait already and will not go away in a moment, and
	// the rest of the group must not stand behind it.
	lookLockWait = 5 * time.Millisecond
)

// lane bounds how many requests are in a transaction of their own.
type lane chan struct{}

func newLane() lane { return make(lane, LaneConns) }

func (l lane) enter(ctx context.Context) error {
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l lane) leave() { <-l }

// look tries a request of a failed group alone. It runs in the caller's
// goroutine, so that the committers go on with the next group.
func (c *Committer[In, Out]) look(ctx context.Context, in In) (Out, error) {
	var none Out
	if err := c.looks.enter(ctx); err != nil {
		return none, err
	}
	defer c.looks.leave()
	return c.alone(ctx, in, lookLockWait)
}

// wait gives a request that met a held row its AloneLockWait. Those who wait have
// a lane of their own, so that they hold up nobody else, and the time in front of
// the lane counts: who did not get in by then has waited as well, and fails with
// the conflict that it came with.
func (c *Committer[In, Out]) wait(ctx context.Context, in In, conflict error) (Out, error) {
	var none Out
	deadline := time.Now().Add(c.settings.AloneLockWait)
	patience, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	if c.waits.enter(patience) != nil {
		if ctx.Err() != nil {
			return none, ctx.Err()
		}
		return none, conflict
	}
	defer c.waits.leave()
	return c.alone(ctx, in, time.Until(deadline))
}

func (c *Committer[In, Out]) alone(ctx context.Context, in In, lockWait time.Duration) (Out, error) {
	out, err := c.transact(ctx, lockWait, []In{in})
	if err != nil {
		var none Out
		return none, err
	}
	return out[0], nil
}

// BeginWithLockWait begins a transaction and bounds, in the same round trip, how
// long each of its statements waits for a lock.
func BeginWithLockWait(wait time.Duration) pgx.TxOptions {
	// In milliseconds, and never 0, which would wait for ever.
	return pgx.TxOptions{BeginQuery: fmt.Sprintf("BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = %d", max(wait.Milliseconds(), 1))}
}

// SetLockWait bounds how long each statement of tx waits for a lock. Past it the
// statement fails with SQLSTATE 55P03.
func SetLockWait(ctx context.Context, tx pgx.Tx, wait time.Duration) error {
	if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", fmt.Sprintf("%dms", max(wait.Milliseconds(), 1))); err != nil {
		return fmt.Errorf("bounding lock waits: %w", err)
	}
	return nil
}
