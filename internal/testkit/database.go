package testkit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pgserver"
	"github.com/payonce/payonce/internal/postgres"
)

const (
	// poolConnsMax bounds each of a test's pools: tests run side by side, and the
	// server has 200 connections.
	poolConnsMax = 16
	// cleanupWait bounds dropping a database, which ends the sessions in it.
	cleanupWait = 30 * time.Second
	// closeWait is far more than a statement that is under way needs to end, once the
	// test's context has.
	closeWait = 10 * time.Second
)

// Database is a database of a test's own, with the newest schema and no rows.
type Database struct {
	App   *pgxpool.Pool // payonce_app, opened with the checks that the services make
	Owner *pgxpool.Pool // payonce_owner

	AppURL   string
	OwnerURL string

	clock sync.Once
}

// NewDatabase clones the migrated template. The database is dropped when the test
// ends, also when the test leaves sessions open in it.
func NewDatabase(t testing.TB) *Database {
	t.Helper()
	urls := newDatabase(t, func(ctx context.Context, s *databaseServer, name string) (pgserver.Database, error) {
		return s.admin.CloneDatabase(ctx, s.template, name)
	})
	app, err := postgres.Open(t.Context(), urls.AppURL, postgres.PoolOptions{ConnsMax: poolConnsMax})
	require.NoError(t, err)
	closeAtEnd(t, app)
	return &Database{App: app, Owner: openOwner(t, urls.OwnerURL), AppURL: urls.AppURL, OwnerURL: urls.OwnerURL}
}

// NewEmptyDatabase creates a database without any table, for services that bring
// a schema of their own and for tests of migrations.
func NewEmptyDatabase(t testing.TB) pgserver.Database {
	t.Helper()
	return newDatabase(t, func(ctx context.Context, s *databaseServer, name string) (pgserver.Database, error) {
		return s.admin.CreateDatabase(ctx, name)
	})
}

// SuperuserURL is for tests of what a superuser may or may not do. Its role can
// get around every guard: do not hand it to the code of a service.
func SuperuserURL(t testing.TB) string {
	t.Helper()
	server, err := testServer()
	require.NoError(t, err)
	return server.admin.URL()
}

type createDatabase func(context.Context, *databaseServer, string) (pgserver.Database, error)

func newDatabase(t testing.TB, create createDatabase) pgserver.Database {
	t.Helper()
	server, err := testServer()
	require.NoError(t, err)
	created, err := create(t.Context(), server, uniqueName())
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), cleanupWait)
		defer cancel()
		require.NoError(t, server.admin.DropDatabase(ctx, created.Name))
	})
	return created
}

func openOwner(t testing.TB, url string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(url)
	require.NoError(t, err)
	config.MaxConns = poolConnsMax
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	closeAtEnd(t, pool)
	return pool
}

// closeAtEnd closes a pool when the test ends. Close waits for every connection that
// was taken out, and a test that fails inside a transaction never gives its own back:
// without an end to the wait, the run would stand still and hide the failure.
func closeAtEnd(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	t.Cleanup(func() {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			pool.Close()
		}()
		select {
		case <-closed:
		case <-time.After(closeWait):
			t.Errorf("%d connections of the test's pool were not given back: is a transaction left open?", pool.Stat().AcquiredConns())
		}
	})
}
