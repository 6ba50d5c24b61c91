package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
)

func TestO8_MigratingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	db := testkit.NewEmptyDatabase(t)
	require.NoError(t, postgres.Migrate(t.Context(), db.OwnerURL))
	first := schemaOf(t, db.OwnerURL)
	require.NotEmpty(t, first)
	require.NoError(t, postgres.Migrate(t.Context(), db.OwnerURL))
	require.Equal(t, first, schemaOf(t, db.OwnerURL))
	require.NoError(t, open(t, db.AppURL))
}

func TestO8_RunnersThatMigrateAtOnceAllSucceed(t *testing.T) {
	t.Parallel()
	db := testkit.NewEmptyDatabase(t)
	var runners errgroup.Group
	for range 4 {
		runners.Go(func() error { return postgres.Migrate(t.Context(), db.OwnerURL) })
	}
	require.NoError(t, runners.Wait())
	require.NoError(t, open(t, db.AppURL))
}

func TestO8_ANewerSchemaIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	exec(t, db.Owner, "INSERT INTO payonce_goose_version (version_id, is_applied) VALUES (99999, true)")
	before := schemaOf(t, db.OwnerURL)
	require.NoError(t, postgres.Migrate(t.Context(), db.OwnerURL))
	require.Equal(t, before, schemaOf(t, db.OwnerURL))
}

func TestO8_OnlyTheOwnerMigrates(t *testing.T) {
	t.Parallel()
	db := testkit.NewEmptyDatabase(t)
	for _, url := range []string{db.AppURL, superuser(t, db.AppURL)} {
		require.ErrorContains(t, postgres.Migrate(t.Context(), url), "connect as payonce_owner")
	}
	_, err := connect(t, db.OwnerURL).Exec(t.Context(), "CREATE TABLE still_empty ()")
	require.NoError(t, err)
	require.Equal(t, []string{"still_empty."}, schemaOf(t, db.OwnerURL))
}

// schemaOf lists every table with its columns.
func schemaOf(t *testing.T, url string) []string {
	t.Helper()
	const sql = `SELECT format('%s.%s', relname, attname)
		FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
		ORDER BY relname, attnum`
	rows, err := connect(t, url).Query(t.Context(), sql)
	require.NoError(t, err)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return columns
}
