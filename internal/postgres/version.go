package postgres

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pressly/goose/v3"
)

// checkSchema refuses a schema that is older than this program.
func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	for _, p := range parts {
		newest, err := p.newest()
		if err != nil {
			return err
		}
		applied, err := p.applied(ctx, pool)
		if err != nil {
			return err
		}
		if applied < newest {
			return fmt.Errorf("the database schema is older than this program (%s is at %d, needed is %d): run `payctl migrate` first",
				p.versionTable, applied, newest)
		}
	}
	return nil
}

// newest is the version of the newest migration in this program.
func (p part) newest() (int64, error) {
	files, err := fs.Glob(p.files, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("listing the migrations of %s: %w", p.versionTable, err)
	}
	var newest int64
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return 0, fmt.Errorf("reading the version of %s: %w", file, err)
		}
		newest = max(newest, version)
	}
	return newest, nil
}

// applied is the version of the newest migration in the database; 0 when it was
// never migrated.
func (p part) applied(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var version int64
	err := pool.QueryRow(ctx, "SELECT coalesce(max(version_id), 0) FROM "+p.versionTable+" WHERE is_applied").Scan(&version)
	if sqlState(err) == codeUndefinedTable {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("reading the schema's version from %s: %w", p.versionTable, err)
	}
	return version, nil
}
