package billing

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"github.com/payonce/payonce/pkg/inbox"
)

//go:embed migrations/*.sql
var migrations embed.FS

// errURL quotes nothing: in a malformed URL the password can be anywhere.
var errURL = errors.New("BILLING_DATABASE_URL cannot be parsed: it must have the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// migrate applies the inbox's migrations and billing's own. Of several instances
// that start at once one works and the others wait.
func migrate(ctx context.Context, url string) error {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return errURL
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	own, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("reading billing's migrations: %w", err)
	}
	if err := up(ctx, db, inbox.Migrations, inbox.MigrationsTable); err != nil {
		return err
	}
	return up(ctx, db, own, "billing_goose_version")
}

func up(ctx context.Context, db *sql.DB, files fs.FS, versionTable string) error {
	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return fmt.Errorf("preparing the migration lock: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName(versionTable), goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("reading the migrations of %s: %w", versionTable, err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrating %s: %w", versionTable, err)
	}
	return nil
}
