package pgserver_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pgserver"
)

func TestAServerIsGoneAfterStopWithItsDataAndItsSessions(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{})
	session := connect(t, s.URL())
	data := ask[string](t, session, "SHOW data_directory")
	require.NoError(t, syscall.Kill(s.PID(), 0), "it runs")

	s.Stop()
	require.ErrorIs(t, syscall.Kill(s.PID(), 0), syscall.ESRCH)
	require.NoDirExists(t, filepath.Dir(data))
	require.Error(t, session.Ping(t.Context()))
	_, err := pgx.Connect(t.Context(), s.URL())
	require.Error(t, err)
	s.Stop()
}

func TestAServerEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := pgserver.Start(ctx, pgserver.Options{})
	require.NoError(t, err)
	cancel()
	<-s.Ended()
	require.ErrorIs(t, syscall.Kill(s.PID(), 0), syscall.ESRCH)
}

// The server is what the guarantees stand on, so it must be durable, private and
// not root's.
func TestAServerIsDurablePrivateAndNotRoot(t *testing.T) {
	t.Parallel()
	builds := map[string]pgserver.Options{
		"the machine's own or else downloaded": {},
		"downloaded":                           {Download: true},
	}
	for name, options := range builds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, options)
			session := connect(t, s.URL())
			require.GreaterOrEqual(t, ask[int](t, session, "SELECT current_setting('server_version_num')::int"), 150000)
			for setting, want := range map[string]string{
				"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "server_encoding": "UTF8",
				"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "lc_collate": "C",
			} {
				const sql = `SELECT setting FROM pg_settings WHERE name = $1
					UNION ALL SELECT datcollate FROM pg_database WHERE datname = current_database() AND $1 = 'lc_collate' LIMIT 1`
				require.Equal(t, want, ask[string](t, session, sql, setting), setting)
			}
			require.Zero(t, ask[int](t, session, `SELECT count(*) FROM pg_hba_file_rules WHERE auth_method <> 'scram-sha-256'`))
			info, err := os.Stat(ask[string](t, session, "SHOW data_directory"))
			require.NoError(t, err)
			require.NotZero(t, info.Sys().(*syscall.Stat_t).Uid)
		})
	}
}

func TestSettingsWinOverTheDefaults(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{Settings: map[string]string{"max_connections": "17"}})
	require.Equal(t, "17", ask[string](t, connect(t, s.URL()), "SHOW max_connections"))
}

func TestTheApplicationOwnsNothingAndMayCreateNothing(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{})
	created, err := s.CreateDatabase(t.Context(), "created")
	require.NoError(t, err)
	owner := connect(t, created.OwnerURL)
	_, err = owner.Exec(t.Context(), "CREATE TABLE held (id int); INSERT INTO held VALUES (7); GRANT SELECT ON held TO payonce_app")
	require.NoError(t, err)
	require.NoError(t, owner.Close(t.Context()))
	cloned, err := s.CloneDatabase(t.Context(), "created", "cloned")
	require.NoError(t, err)

	for _, database := range []pgserver.Database{created, cloned} {
		app := connect(t, database.AppURL)
		require.Equal(t, "payonce_app", ask[string](t, app, "SELECT current_user"))
		require.Equal(t, 7, ask[int](t, app, "SELECT id FROM held"))
		for _, refused := range []string{
			"CREATE TABLE mine ()", "CREATE TEMPORARY TABLE mine ()", "CREATE SCHEMA mine", "CREATE DATABASE mine", "CREATE ROLE mine",
			"INSERT INTO held VALUES (8)", "SET ROLE payonce_owner", "ALTER TABLE held OWNER TO payonce_app",
		} {
			_, err := app.Exec(t.Context(), refused)
			require.ErrorContains(t, err, "42501", "%s in %s", refused, database.Name)
		}
	}
}

func TestTwoProcessesThatShareAServerAgreeOnThePasswords(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{})
	other, err := pgserver.NewAdmin(t.Context(), s.URL())
	require.NoError(t, err)
	created, err := s.CreateDatabase(t.Context(), "shared")
	require.NoError(t, err)
	require.Equal(t, created, other.Database("shared"))
	connect(t, created.AppURL)

	require.NoError(t, other.DropDatabase(t.Context(), "shared"), "with a session in it")
	_, err = pgx.Connect(t.Context(), created.AppURL)
	require.ErrorContains(t, err, "does not exist")
}

func TestAnAdminNeedsAURLWithAUserAndDoesNotRepeatIt(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"host=localhost password=hunter2", "postgres://u:hunter2%zz@h/d", "postgres://h/d"} {
		_, err := pgserver.NewAdmin(t.Context(), bad)
		require.ErrorContains(t, err, "must have the form")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func start(t *testing.T, o pgserver.Options) *pgserver.Server {
	t.Helper()
	s, err := pgserver.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	parsed, err := url.Parse(s.URL())
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", parsed.Hostname())
	return s
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close(context.Background()) })
	return connection
}

func ask[T any](t *testing.T, c *pgx.Conn, sql string, arguments ...any) T {
	t.Helper()
	var answer T
	require.NoError(t, c.QueryRow(t.Context(), sql, arguments...).Scan(&answer), sql)
	return answer
}
