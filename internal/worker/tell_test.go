package worker

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/outcome"
)

// The database is down when the process wakes up. What it would tell is not worth
// waiting for, and must not keep the process from ending.
func TestW2_AWorkerThatFrozeForManyLeasesDoesNotTellForEver(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), "postgres://payonce@127.0.0.1:1/payonce") // nobody listens there
	require.NoError(t, err)
	defer pool.Close()
	w := &Worker{config: Config{Lease: time.Minute}, applier: outcome.NewApplier(pool, outcome.Publisher{}), log: zap.NewNop()}
	ctx, stop := context.WithCancel(t.Context())
	defer w.sends.Wait()
	defer stop()
	w.sends.Go(func() { w.applier.Run(ctx) })
	told := make(chan struct{})
	w.sends.Go(func() {
		defer close(told)
		w.tell(ctx, outcome.Outcome{}, time.Now().Add(-3*w.config.Lease))
	})
	select {
	case <-told:
	case <-time.After(20 * time.Second):
		require.Fail(t, "it is still told")
	}
}
