package inbox_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/inbox"
)

func TestE3_AnAbortSaysWhetherTheCommitIsInDoubt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fail    func(context.Context, pgx.Tx, *testkit.Commits) error
		inDoubt bool
	}{
		"the handler fails": {fail: func(context.Context, pgx.Tx, *testkit.Commits) error { return errors.New("not yet") }},
		"PostgreSQL refuses the commit": {fail: func(ctx context.Context, tx pgx.Tx, _ *testkit.Commits) error {
			_, err := tx.Exec(ctx, `CREATE TABLE once (id int UNIQUE DEFERRABLE INITIALLY DEFERRED); INSERT INTO once VALUES (1), (1)`)
			return err
		}},
		"the transaction had failed before": {fail: func(ctx context.Context, tx pgx.Tx, _ *testkit.Commits) error {
			_, err := tx.Exec(ctx, "SELECT 1/0")
			if err == nil {
				return errors.New("it worked")
			}
			return nil
		}},
		"the commit is lost": {inDoubt: true, fail: func(_ context.Context, _ pgx.Tx, commits *testkit.Commits) error {
			commits.LoseCommit()
			return nil
		}},
		"its answer is lost": {inDoubt: true, fail: func(_ context.Context, _ pgx.Tx, commits *testkit.Commits) error {
			commits.LoseAnswer()
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, testkit.NewFakeBroker(t))
			commits := testkit.NewCommits(t, b.db.Owner)
			records := b.newRecords(1)
			b.publish(records...)
			aborted := make(chan bool, 10)
			var calls atomic.Int32
			b.aborted = func(_ context.Context, inDoubt bool) { aborted <- inDoubt }
			b.start("group", commits.Pool, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
				if err := record(ctx, tx, messages); err != nil || calls.Add(1) > 1 {
					return err
				}
				return c.fail(ctx, tx, commits)
			})
			b.awaitGroup("group")
			require.Equal(t, c.inDoubt, <-aborted)
			require.Empty(t, aborted)
			require.Equal(t, ids(records...), b.effects(), "once, whatever became of the first commit")
		})
	}
}
