package postgres_test

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/schema"
)

// migrateTo brings an empty database to an older version.
func migrateTo(t *testing.T, url string, version int64) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	require.NoError(t, err)
	db := stdlib.OpenDB(*config)
	defer db.Close()
	for _, part := range []struct {
		table string
		files fs.FS
	}{{inbox.MigrationsTable, inbox.Migrations}, {"payonce_goose_version", schema.Migrations}} {
		provider, err := goose.NewProvider(goose.DialectPostgres, db, part.files, goose.WithTableName(part.table),
			goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
		require.NoError(t, err)
		_, err = provider.UpTo(t.Context(), version)
		require.NoError(t, err)
	}
}

// lockAsWriters takes the lock that everyone has who writes into a table.
func lockAsWriters(table string) string { return "LOCK TABLE " + table + " IN ROW EXCLUSIVE MODE" }

// waitsSQL counts the sessions that wait for a lock of another one.
const waitsSQL = `SELECT count(*) FROM pg_stat_activity
	WHERE datname = current_database() AND wait_event_type = 'Lock' AND pid <> pg_backend_pid()`

func TestO8_PaymentsGoOnWhileATableInUseIsMigrated(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from  int64 // the version before
		table string
	}{
		{13, "operation"}, // an index is built, and one is dropped
		{14, "operation"}, // columns are added
		{15, "idempotency_key"},
		{17, "payment"},
		{18, "operation"},
		{19, "idempotency_key"},
	} {
		t.Run(fmt.Sprintf("from %d", c.from), func(t *testing.T) {
			t.Parallel()
			db := testkit.NewEmptyDatabase(t)
			migrateTo(t, db.OwnerURL, c.from)
			long := begin(t, db.OwnerURL)
			_, err := long.Exec(t.Context(), lockAsWriters(c.table))
			require.NoError(t, err)

			migrated := make(chan error, 1)
			go func() { migrated <- postgres.Migrate(t.Context(), db.OwnerURL) }()
			writer := connect(t, with(t, db.OwnerURL, "statement_timeout", "10s"))
			waited := false
			for !waited && len(migrated) == 0 {
				waited = waitsForWriters(t, writer)
				write(t, writer, c.table)
			}
			write(t, writer, c.table)
			require.True(t, waited, "it met the writer")

			require.NoError(t, long.Rollback(t.Context()))
			require.NoError(t, <-migrated)
			require.NoError(t, open(t, db.AppURL))
		})
	}
}

func begin(t *testing.T, url string) pgx.Tx {
	t.Helper()
	tx, err := connect(t, url).Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return tx
}

// write is a short transaction of a writer. It fails when it is held up for long.
func write(t *testing.T, writer *pgx.Conn, table string) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), writer, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), lockAsWriters(table))
		return err
	}))
}

func waitsForWriters(t *testing.T, connection *pgx.Conn) bool {
	t.Helper()
	var waiting int
	require.NoError(t, connection.QueryRow(t.Context(), waitsSQL).Scan(&waiting))
	return waiting > 0
}

func TestO8_AnIndexThatWasLeftHalfBuiltIsBuiltAgain(t *testing.T) {
	t.Parallel()
	db := testkit.NewEmptyDatabase(t)
	migrateTo(t, db.OwnerURL, 18)
	long := begin(t, db.OwnerURL)
	_, err := long.Exec(t.Context(), lockAsWriters("operation"))
	require.NoError(t, err)
	broken, stop := context.WithCancel(t.Context())
	migrated := make(chan error, 1)
	go func() { migrated <- postgres.Migrate(broken, db.OwnerURL) }()
	watcher := connect(t, db.OwnerURL)
	require.Eventually(t, func() bool { return waitsForWriters(t, watcher) }, time.Minute, 10*time.Millisecond)
	stop()
	require.Error(t, <-migrated)
	require.Equal(t, []string{"operation_one_refund_per_reference"}, halfBuilt(t, watcher))

	require.NoError(t, long.Rollback(t.Context()))
	require.NoError(t, postgres.Migrate(t.Context(), db.OwnerURL))
	require.Empty(t, halfBuilt(t, watcher))
	require.NoError(t, open(t, db.AppURL))
}

// halfBuilt names the indexes that are kept up and not used.
func halfBuilt(t *testing.T, connection *pgx.Conn) []string {
	t.Helper()
	rows, err := connection.Query(t.Context(), "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid")
	require.NoError(t, err)
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return names
}

// firstLive is the first migration that may find tables in use.
const firstLive = 14

func TestO8_AMigrationBuildsBesideTheServicesOrWaitsShortly(t *testing.T) {
	t.Parallel()
	files, err := fs.Glob(schema.Migrations, "*.sql")
	require.NoError(t, err)
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		require.NoError(t, err)
		if version < firstLive {
			continue
		}
		text, err := fs.ReadFile(schema.Migrations, file)
		require.NoError(t, err)
		if strings.Contains(string(text), "+goose NO TRANSACTION") {
			require.NotRegexp(t, `(?m)^(CREATE (UNIQUE )?INDEX|DROP INDEX) [^C]`, string(text), "%s: add CONCURRENTLY", file)
			continue
		}
		require.Contains(t, string(text), "SET LOCAL lock_timeout = '1s';", file)
	}
}
