package postgres

import (
	"context"
	"database/sql"
	_ "embed"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/schema"
)

// part is a set of migrations with a version table of its own.
type part struct {
	files        fs.FS
	versionTable string
}

// parts are in the order in which they are applied: payonce's own migrations may
// build on the tables of the inbox.
var parts = []part{
	{inbox.Migrations, inbox.MigrationsTable},
	{schema.Migrations, "payonce_goose_version"},
}

// lockPolls bounds how long a runner waits for another one, in looks of one
// second each: an hour, because the other one may be building a large index.
const lockPolls = 3600

// Migrate brings the schema to the newest version that this program knows, as the
// owner. It only goes forward. Of several runners one works and the others wait
// and then find nothing to do; a schema that is newer is left as it is.
//
// The URL must lead to PostgreSQL itself: the lock belongs to the session, which a
// transaction pooler does not keep. The role payonce_app must exist (schema/roles.sql).
func Migrate(ctx context.Context, ownerURL string) error {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return errURL
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	if err := checkBeforeMigrating(ctx, db); err != nil {
		return err
	}
	for _, p := range parts {
		if err := p.migrate(ctx, db); err != nil {
			return err
		}
		if err := p.showVersion(ctx, db); err != nil {
			return err
		}
	}
	return nil
}

func (p part) migrate(ctx context.Context, db *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, lockPolls))
	if err != nil {
		return fmt.Errorf("preparing the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, p.files,
		goose.WithTableName(p.versionTable), goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("reading the migrations of %s: %w", p.versionTable, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating %s: %w", p.versionTable, err)
	}
	return nil
}

// showVersion lets the services read the version, which they check at start.
func (p part) showVersion(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning the grant on %s: %w", p.versionTable, err)
	}
	defer tx.Rollback()
	// Two GRANTs on one table at once fail with "tuple concurrently updated".
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", lock.DefaultLockID); err != nil {
		return fmt.Errorf("locking the migrations: %w", err)
	}
	grant := "GRANT SELECT ON " + p.versionTable + " TO " + appRole //nolint:gosec // both are constants of ours
	if _, err := tx.ExecContext(ctx, grant); err != nil {
		return fmt.Errorf("granting on %s: %w", p.versionTable, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("granting on %s: %w", p.versionTable, err)
	}
	return nil
}

//go:embed migrate_check.sql
var migrateCheckSQL string

// checkBeforeMigrating finds what would otherwise fail half way, with a message
// that says what to do.
func checkBeforeMigrating(ctx context.Context, db *sql.DB) error {
	var facts struct {
		version int
		role    string
		appRole bool
	}
	if err := db.QueryRowContext(ctx, migrateCheckSQL).Scan(&facts.version, &facts.role, &facts.appRole); err != nil {
		return fmt.Errorf("looking at the database before migrating: %w", err)
	}
	switch {
	case facts.version < versionMin:
		return versionError(facts.version)
	case facts.role != ownerRole:
		return fmt.Errorf("the role %s may not migrate: connect as %s, which then owns the tables", facts.role, ownerRole)
	case !facts.appRole:
		return fmt.Errorf("the role %s does not exist: run schema/roles.sql as a superuser first", appRole)
	}
	return nil
}
