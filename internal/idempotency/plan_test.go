package idempotency_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

// A plan is made once, when the table may be empty, and used for as long as the
// sweeper's connection lives. One that sorts would read everything that is old enough
// for each step.
func TestI12_TheSweepReadsNoMoreThanItsStepWhateverTheTableLookedLikeAtFirst(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	requireWalk(t, plan(t, d))
	reserveMany(t, d, "k", 5000, true)
	_, err := d.Owner.Exec(t.Context(), "ANALYZE idempotency_key")
	require.NoError(t, err)
	requireWalk(t, plan(t, d))
}

func requireWalk(t *testing.T, plan string) {
	t.Helper()
	require.Contains(t, plan, "Index Scan using idempotency_key_by_age on idempotency_key", plan)
	require.Contains(t, plan, "Index Scan using idempotency_key_pkey on idempotency_key k", plan)
	for _, wide := range []string{"Sort", "Seq Scan", "Bitmap", "Hash"} {
		require.NotContains(t, plan, wide, plan)
	}
}

// plan is the one that a prepared statement of the services' role goes on with.
func plan(t *testing.T, d *testkit.Database) string {
	t.Helper()
	sweep, err := os.ReadFile("sweep.sql")
	require.NoError(t, err)
	connection, err := d.App.Acquire(t.Context())
	require.NoError(t, err)
	defer connection.Release()
	run := func(sql string) []string {
		results, err := connection.Conn().PgConn().Exec(t.Context(), sql).ReadAll()
		require.NoError(t, err)
		var lines []string
		for _, row := range results[0].Rows {
			lines = append(lines, string(row[0]))
		}
		return lines
	}
	run("SET plan_cache_mode = force_generic_plan")
	run("PREPARE sweep (timestamptz, interval, integer, interval) AS " + string(sweep))
	lines := run("EXPLAIN EXECUTE sweep ('-infinity', '73 hours', 500, '24 hours')")
	run("DEALLOCATE sweep")
	return strings.Join(lines, "\n")
}
