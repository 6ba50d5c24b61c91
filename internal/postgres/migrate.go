package postgres

import (
	"context"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"time"

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

// The bounds of tries to get a table in use, each of one second (lock_timeout in the
// migrations that alter one).
const (
	lockTries = 200
	lockPause = 2 * time.Second
)

// Migrate brings the schema to the newest version that this program knows, as the
// owner. It only goes forward. Of several runners one works and the others wait
// and then find nothing to do; a schema that is newer is left as it is. Services may
// run meanwhile: indexes are built beside them, and a table that is altered is waited
// for one second at a time, which is as long as they are held up.
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
	locker, err := newLocker()
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, p.files,
		goose.WithTableName(p.versionTable), goose.WithSessionLocker(locker),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("reading the migrations of %s: %w", p.versionTable, err)
	}
	for range lockTries {
		if _, err = provider.Up(ctx); !IsLockConflict(err) || pause(ctx) != nil {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("migrating %s: %w", p.versionTable, err)
	}
	return nil
}

// pause lets those through who queued up behind a table that was not to be had.
func pause(ctx context.Context) error {
	select {
	case <-time.After(lockPause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func newLocker() (lock.SessionLocker, error) {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, lockPolls))
	if err != nil {
		return nil, fmt.Errorf("preparing the migration lock: %w", err)
	}
	return locker, nil
}

// showVersion lets the services read the version, which they check at start.
//
// Two GRANTs on one table at once fail with "tuple concurrently updated", so it takes the
// lock, too, and in the way of goose, look by look: one long wait for the lock would hold
// a snapshot, for whose end the holder waits when it builds an index.
func (p part) showVersion(ctx context.Context, db *sql.DB) (err error) {
	locker, err := newLocker()
	if err != nil {
		return err
	}
	session, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting for the grant on %s: %w", p.versionTable, err)
	}
	defer session.Close() //nolint:errcheck // it goes back to the pool
	if err := locker.SessionLock(ctx, session); err != nil {
		return fmt.Errorf("locking the migrations: %w", err)
	}
	defer func() { err = errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), session)) }()
	grant := "GRANT SELECT ON " + p.versionTable + " TO " + appRole //nolint:gosec // both are constants of ours
	if _, err := session.ExecContext(ctx, grant); err != nil {
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
