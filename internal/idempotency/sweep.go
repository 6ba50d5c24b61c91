package idempotency

import (
	"context"
	_ "embed"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/lifecycle"
)

const (
	// sweepStepMax keys are looked at in one transaction, which then takes some
	// milliseconds: a late repeat of a key that is being swept waits no longer.
	sweepStepMax = 500
	// sweepStepWait bounds one step when the database is slow.
	sweepStepWait = 10 * time.Second
	// sweepInterval is the pause between two walks. A key may stay longer than it has
	// to; nobody minds.
	sweepInterval = time.Minute
)

//go:embed sweep.sql
var sweepSQL string

// Sweeper removes keys that have outlived their window, and ClockMargin, with their
// answers. A key whose resource is open stays, however old it is, and one whose answer
// came less than AnswerMin ago. Several sweepers do
// not disturb each other, nor anyone else: what somebody holds is left for later.
type Sweeper struct {
	Pool   *pgxpool.Pool
	Window time.Duration // from WindowMin to WindowMax; intake's is no longer than this
	Log    *zap.Logger
}

// Run sweeps until ctx ends.
func (s Sweeper) Run(ctx context.Context) {
	for ctx.Err() == nil {
		swept, err := s.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("key sweeper waits", zap.Error(err))
		}
		if swept > 0 {
			s.Log.Debug("idempotency keys swept", zap.Int("keys", swept))
		}
		lifecycle.Wait(ctx, sweepInterval/2+rand.N(sweepInterval))
	}
}

// Sweep is one walk over all keys that are old enough, in small transactions. It
// returns how many it removed, also when it ends with an error.
func (s Sweeper) Sweep(ctx context.Context) (int, error) {
	swept := 0
	var behind time.Time
	for {
		removed, last, err := s.step(ctx, behind)
		swept += removed
		if err != nil || last == nil {
			return swept, err
		}
		behind = *last
	}
}

// step looks at the keys that were reserved after behind, and returns how many it
// removed and when the last one it looked at was reserved; nil when there was none.
func (s Sweeper) step(ctx context.Context, behind time.Time) (removed int, last *time.Time, err error) {
	ctx, cancel := context.WithTimeout(ctx, sweepStepWait)
	defer cancel()
	if err := s.Pool.QueryRow(ctx, sweepSQL, behind, s.Window+ClockMargin, sweepStepMax, AnswerMin).Scan(&removed, &last); err != nil {
		return 0, nil, fmt.Errorf("sweeping idempotency keys: %w", err)
	}
	return removed, last, nil
}
