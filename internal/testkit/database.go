package testkit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/schema"
)

// DatabaseEnv names the superuser's URL of a server that is there for tests. Its
// passwords of payonce's roles are overwritten.
const DatabaseEnv = "PAYONCE_TEST_DATABASE_URL"

const (
	// poolConnsMax bounds each of a test's pools: tests run side by side, and the
	// server has 200 connections.
	poolConnsMax = 16
	// cleanupWait bounds dropping a database, which ends the sessions in it.
	cleanupWait = 30 * time.Second
)

// Database is a database of a test's own, with the newest schema and no rows.
type Database struct {
	App   *pgxpool.Pool // payonce_app, opened with the checks that the services make
	Owner *pgxpool.Pool // payonce_owner

	AppURL   string
	OwnerURL string
}

// NewDatabase clones the migrated template. The database is dropped when the test
// ends.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	ctx := t.Context()
	server, err := testServer()
	require.NoError(t, err)
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	cloned, err := server.admin.CloneDatabase(ctx, server.template, name)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupWait)
		defer cancel()
		require.NoError(t, server.admin.DropDatabase(ctx, name))
	})
	d := &Database{AppURL: cloned.AppURL, OwnerURL: cloned.OwnerURL}
	d.App, err = postgres.Open(ctx, d.AppURL, postgres.PoolOptions{ConnsMax: poolConnsMax, ApplicationName: t.Name()})
	require.NoError(t, err)
	t.Cleanup(d.App.Close)
	d.Owner = openPool(t, d.OwnerURL)
	return d
}

// NewEmptyDatabase creates a database without any table, for services that bring
// a schema of their own and for tests of migrations.
func NewEmptyDatabase(t testing.TB) pgserver.Database {
	t.Helper()
	server, err := testServer()
	require.NoError(t, err)
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	created, err := server.admin.CreateDatabase(t.Context(), name)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupWait)
		defer cancel()
		require.NoError(t, server.admin.DropDatabase(ctx, name))
	})
	return created
}

func openPool(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = poolConnsMax
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

// databaseServer is a server with a migrated template on it.
type databaseServer struct {
	admin    *pgserver.Admin
	template string
}

var testServer = shared(func(ctx context.Context) (*databaseServer, error) {
	admin, err := testAdmin(ctx)
	if err != nil {
		return nil, err
	}
	template, err := prepareTemplate(ctx, admin)
	if err != nil {
		return nil, fmt.Errorf("preparing the template database: %w", err)
	}
	return &databaseServer{admin, template}, nil
})

func testAdmin(ctx context.Context) (*pgserver.Admin, error) {
	if url := os.Getenv(DatabaseEnv); url != "" {
		return pgserver.NewAdmin(ctx, url)
	}
	server, err := pgserver.Start(ctx, pgserver.Options{})
	if err != nil {
		return nil, err
	}
	stopAtEnd(server.Stop)
	return server.Admin, nil
}

// prepareTemplate creates and migrates the template unless another test process
// on the same server has done so. Its name holds a hash of all migrations, so that
// processes of different versions do not meet.
func prepareTemplate(ctx context.Context, admin *pgserver.Admin) (string, error) {
	hash, err := schemaHash()
	if err != nil {
		return "", err
	}
	name := "payonce_template_" + hash
	connection, err := pgx.Connect(ctx, admin.URL())
	if err != nil {
		return "", err
	}
	defer connection.Close(ctx)
	// The lock belongs to the session and ends with the connection.
	if _, err := connection.Exec(ctx, "SELECT pg_advisory_lock(hashtextextended('payonce template', 0))"); err != nil {
		return "", err
	}
	var exists bool
	if err := connection.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	return name, buildTemplate(ctx, admin, connection, name)
}

// buildTemplate migrates under another name and renames at the end, so that a
// template which exists is complete.
func buildTemplate(ctx context.Context, admin *pgserver.Admin, connection *pgx.Conn, name string) error {
	unfinished := name + "_unfinished"
	if err := admin.DropDatabase(ctx, unfinished); err != nil {
		return err
	}
	database, err := admin.CreateDatabase(ctx, unfinished)
	if err != nil {
		return err
	}
	if err := postgres.Migrate(ctx, database.OwnerURL); err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return err
}

// schemaHash names the content of all migrations.
func schemaHash() (string, error) {
	hash := sha256.New()
	for _, files := range []fs.FS{inbox.Migrations, schema.Migrations} {
		err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(files, path)
			fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
			return err
		})
		if err != nil {
			return "", fmt.Errorf("hashing the migrations: %w", err)
		}
	}
	return hex.EncodeToString(hash.Sum(nil))[:12], nil
}
