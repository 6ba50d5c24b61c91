package groupcommit

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestTheQueueIsBoundedAndWhoDoesNotGetInCanLeave(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	b.queue = make(chan *request[int, string], 2)
	queued := b.ask(t.Context(), t, 1, 2)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := b.Do(gone, 3)
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, b.queue, 2)
	b.start(t)
	for range 2 {
		require.NoError(t, (<-queued).err)
	}
	_, err = b.Do(t.Context(), 3)
	require.NoError(t, err, "there is room again")
}

func TestAGroupIsNoLargerThanItMayBe(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	b.settings.GroupMax = 3
	var sizes []int
	apply := b.Committer.apply
	b.Committer.apply = func(ctx context.Context, tx pgx.Tx, group []int) ([]string, error) {
		sizes = append(sizes, len(group))
		return apply(ctx, tx, group)
	}
	answers := b.ask(t.Context(), t, 1, 2, 3, 4, 5, 6, 7)
	b.start(t)
	for range 7 {
		require.NoError(t, (<-answers).err)
	}
	require.Equal(t, []int{3, 3, 1}, sizes)
}

// A fault of the code that writes must not look like a commit to be repeated.
func TestAGroupWithoutAnAnswerForEachRequestIsNotCommitted(t *testing.T) {
	t.Parallel()
	b := newBench(t, time.Second)
	b.Committer.apply = func(ctx context.Context, tx pgx.Tx, group []int) ([]string, error) {
		_, err := tx.Exec(ctx, "UPDATE slot SET id = id + 1000 WHERE id = ANY ($1)", group)
		return nil, err
	}
	answers := b.ask(t.Context(), t, 1, 2)
	b.start(t)
	for range 2 {
		require.ErrorContains(t, (<-answers).err, "0 answers for 1 requests")
	}
	var moved int
	require.NoError(t, b.App.QueryRow(t.Context(), "SELECT count(*) FROM slot WHERE id >= 1000").Scan(&moved))
	require.Zero(t, moved)
}
