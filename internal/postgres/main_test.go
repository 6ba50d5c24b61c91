package postgres_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// connect returns one connection that is closed when the test ends.
func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

// with returns the URL with one more parameter.
func with(t *testing.T, raw, name, value string) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// as returns the URL for another user of the same database.
func as(t *testing.T, raw string, user *url.Userinfo) string {
	t.Helper()
	u, err := url.Parse(raw)
	require.NoError(t, err)
	u.User = user
	return u.String()
}

// superuser returns the superuser's URL for the database of another URL.
func superuser(t *testing.T, raw string) string {
	t.Helper()
	server, err := url.Parse(testkit.SuperuserURL(t))
	require.NoError(t, err)
	return as(t, raw, server.User)
}

func exec(t *testing.T, pool *pgxpool.Pool, format string, arguments ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), fmt.Sprintf(format, arguments...))
	require.NoError(t, err)
}
