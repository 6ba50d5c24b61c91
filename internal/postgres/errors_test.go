package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
)

func TestALockThatIsNotToBeHadIsALockConflict(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	exec(t, db.Owner, "CREATE TABLE held (id int PRIMARY KEY); INSERT INTO held VALUES (1)")
	holder, err := db.Owner.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Rollback(context.Background()) })
	_, err = holder.Exec(t.Context(), "SELECT FROM held FOR UPDATE")
	require.NoError(t, err)

	err = pgx.BeginFunc(t.Context(), db.Owner, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '10ms'; SELECT FROM held FOR UPDATE")
		return err
	})
	require.True(t, postgres.IsLockConflict(fmt.Errorf("claiming: %w", err)), err)
	require.False(t, postgres.IsUnavailable(err))
}

func TestADeadlockIsALockConflict(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	exec(t, db.Owner, "CREATE TABLE held (id int PRIMARY KEY); INSERT INTO held VALUES (1), (2)")
	var both errgroup.Group
	first, second := make(chan struct{}), make(chan struct{})
	cross := func(id int, mine, others chan struct{}) func() error {
		return func() error {
			return pgx.BeginFunc(t.Context(), db.Owner, func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), "SELECT FROM held WHERE id = $1 FOR UPDATE", id)
				close(mine)
				<-others
				if err == nil {
					_, err = tx.Exec(t.Context(), "SELECT FROM held WHERE id = $1 FOR UPDATE", 3-id)
				}
				return err
			})
		}
	}
	both.Go(cross(1, first, second))
	both.Go(cross(2, second, first))
	err := both.Wait()
	require.True(t, postgres.IsLockConflict(err), err)
}

func TestI14_AServerThatIsGoneOrFullIsUnavailable(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*testing.T, *testkit.Database) error{
		"nobody listens": func(t *testing.T, _ *testkit.Database) error {
			_, err := pgx.Connect(t.Context(), "postgres://u:p@127.0.0.1:1/d")
			return err
		},
		"the session was ended": func(t *testing.T, db *testkit.Database) error {
			session := connect(t, db.AppURL)
			return endDuring(t, db, session)
		},
		"the session is used after its end": func(t *testing.T, db *testkit.Database) error {
			session := connect(t, db.AppURL)
			require.Error(t, endDuring(t, db, session))
			return session.Ping(t.Context())
		},
		"it refuses the session": func(t *testing.T, db *testkit.Database) error {
			_, err := pgx.Connect(t.Context(), as(t, db.AppURL, url.UserPassword("payonce_app", "rotated")))
			return err
		},
		"no session is left": func(t *testing.T, db *testkit.Database) error {
			exec(t, db.Owner, "ALTER DATABASE %s CONNECTION LIMIT 0", db.Owner.Config().ConnConfig.Database)
			_, err := pgx.Connect(t.Context(), db.AppURL)
			return err
		},
		"it is a replica": func(t *testing.T, db *testkit.Database) error {
			_, err := connect(t, with(t, db.OwnerURL, "options", "-cdefault_transaction_read_only=on")).Exec(t.Context(), "CREATE TABLE refused ()")
			return err
		},
	}
	for name, provoke := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := provoke(t, testkit.NewDatabase(t))
			require.Error(t, err)
			require.True(t, postgres.IsUnavailable(fmt.Errorf("accepting: %w", err)), "%v", err)
			require.True(t, postgres.IsUnanswered(err))
			require.False(t, postgres.IsLockConflict(err))
		})
	}
}

func TestWhatTheCallerOrTheStatementDidIsNotUnavailability(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	passed, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	for name, ctx := range map[string]context.Context{"canceled": canceled, "deadline passed": passed} {
		_, err := db.App.Exec(ctx, "SELECT 1")
		require.Error(t, err, name)
		require.False(t, postgres.IsUnavailable(err), name)
		require.True(t, postgres.IsUnanswered(err), name)
	}
	_, err := db.App.Exec(t.Context(), "SELECT 1/0")
	require.Error(t, err)
	require.False(t, postgres.IsUnanswered(err))
	require.False(t, postgres.IsUnavailable(err))
	require.False(t, postgres.IsUnavailable(nil))
	require.False(t, postgres.IsUnavailable(errors.New("anything else")))
}

// endDuring ends the session while it waits in a statement and returns what the
// statement returned.
func endDuring(t *testing.T, db *testkit.Database, session *pgx.Conn) error {
	t.Helper()
	pid := session.PgConn().PID()
	answered := make(chan error, 1)
	go func() {
		_, err := session.Exec(t.Context(), "SELECT pg_sleep(600)")
		answered <- err
	}()
	admin := connect(t, superuser(t, db.AppURL))
	_, err := admin.Exec(t.Context(), "SELECT pg_terminate_backend($1)", pid)
	require.NoError(t, err)
	return <-answered
}

func TestI14_ARefusalIsOfTheServerOrOfTheRequestsValues(t *testing.T) {
	t.Parallel()
	for code, ofServer := range map[string]bool{
		"53100": true,  // disk_full
		"57014": true,  // query_canceled
		"58030": true,  // io_error
		"42501": true,  // insufficient_privilege
		"42P01": true,  // undefined_table
		"XX001": true,  // data_corrupted
		"22003": false, // numeric_value_out_of_range
		"23514": false, // check_violation
		"54000": false, // program_limit_exceeded
		"P0001": false, // raise_exception
	} {
		err := fmt.Errorf("accepting: %w", &pgconn.PgError{Code: code})
		require.Equal(t, ofServer, postgres.IsOfServer(err), code)
	}
	require.False(t, postgres.IsOfServer(errors.New("anything else")))
	require.False(t, postgres.IsOfServer(nil))
}

func TestOnlyPostgreSQLsOwnWordSaysThatACommitWasNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err        error
		rolledBack bool
	}{
		"a deferred constraint":  {&pgconn.PgError{SeverityUnlocalized: "ERROR", Code: "23505"}, true},
		"failed before":          {fmt.Errorf("claiming: %w", pgx.ErrTxCommitRollback), true},
		"the session is ended":   {&pgconn.PgError{SeverityUnlocalized: "FATAL", Code: "57P01"}, false},
		"the connection is gone": {io.ErrUnexpectedEOF, false},
		"out of time":            {context.DeadlineExceeded, false},
	} {
		require.Equal(t, c.rolledBack, postgres.IsRolledBack(c.err), name)
	}
}
