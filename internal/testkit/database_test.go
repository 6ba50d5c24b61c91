package testkit_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestEachTestHasADatabaseOfItsOwnThatIsMigratedAndGoneAtItsEnd(t *testing.T) { //nolint:tparallel // what follows looks at the end of the inner test
	t.Parallel()
	var gone string
	t.Run("a test", func(t *testing.T) {
		first, second := testkit.NewDatabase(t), testkit.NewDatabase(t)
		_, err := first.Owner.Exec(t.Context(), "CREATE TABLE only_here ()")
		require.NoError(t, err)
		require.True(t, ask[bool](t, first.Owner, "SELECT to_regclass('only_here') IS NOT NULL"))
		require.False(t, ask[bool](t, second.Owner, "SELECT to_regclass('only_here') IS NOT NULL"))
		require.Equal(t, "payonce_app", ask[string](t, first.App, "SELECT current_user"))
		require.Equal(t, "payonce_owner", ask[string](t, first.Owner, "SELECT current_user"))

		// A session that the test forgets must not keep its database alive.
		_, err = pgx.Connect(context.Background(), first.AppURL)
		require.NoError(t, err)
		gone = first.AppURL
	})
	_, err := pgx.Connect(t.Context(), gone)
	require.ErrorContains(t, err, "does not exist")
}

func TestAnEmptyDatabaseHasNoTable(t *testing.T) {
	t.Parallel()
	pool, err := pgxpool.New(t.Context(), testkit.NewEmptyDatabase(t).OwnerURL)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.Zero(t, ask[int](t, pool, "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"))
}

func TestATestMovesTheClockOfItsOwnDatabaseOnly(t *testing.T) {
	t.Parallel()
	moved, other := testkit.NewDatabase(t), testkit.NewDatabase(t)
	ahead := func(db *testkit.Database) time.Duration {
		return ask[time.Duration](t, db.App, "SELECT payonce_now() - clock_timestamp()").Round(time.Minute)
	}
	for _, want := range []time.Duration{72 * time.Hour, -time.Hour, 0} {
		moved.SetNow(t, want)
		require.Equal(t, want, ahead(moved))
		require.Zero(t, ahead(other))
	}
	const runs = "SELECT payonce_now() < payonce_now() OR payonce_now() < (SELECT payonce_now() FROM pg_sleep(0.001))"
	require.True(t, ask[bool](t, moved.App, runs), "it runs on")
	_, err := moved.App.Exec(t.Context(), "UPDATE testkit_clock SET ahead = '1 day'")
	require.ErrorContains(t, err, "42501", "the application cannot move it")
}

func ask[T any](t *testing.T, pool *pgxpool.Pool, sql string) T {
	t.Helper()
	var answer T
	require.NoError(t, pool.QueryRow(t.Context(), sql).Scan(&answer), sql)
	return answer
}
