package postgres_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
)

func open(t *testing.T, url string) error {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, postgres.PoolOptions{})
	if err == nil {
		t.Cleanup(pool.Close)
	}
	return err
}

func TestO6_SynchronousCommitOffIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	require.NoError(t, open(t, db.AppURL))
	require.ErrorContains(t, open(t, with(t, db.AppURL, "options", "-csynchronous_commit=off")), "synchronous_commit is off")

	exec(t, db.Owner, "ALTER DATABASE %s SET synchronous_commit = off", db.Owner.Config().ConnConfig.Database)
	require.ErrorContains(t, open(t, db.AppURL), "synchronous_commit is off", "whoever switched it off")
}

func TestO5_RolesThatGetAroundTheGuardsAreRefusedAtStart(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	require.ErrorContains(t, open(t, superuser(t, db.AppURL)), "is a superuser")
	require.ErrorContains(t, open(t, db.OwnerURL), "owns tables or is a member of payonce_owner")

	// A superuser that acts as payonce_app is a RESET ROLE away from itself.
	require.ErrorContains(t, open(t, with(t, superuser(t, db.AppURL), "options", "-crole=payonce_app")), "is a superuser")
}

func TestO5_AMemberOfTheOwnerIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	database := db.Owner.Config().ConnConfig.Database
	member := "member_of_" + database
	admin, err := pgxpool.New(t.Context(), superuser(t, db.AppURL))
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := admin.Exec(context.Background(), "DROP OWNED BY "+member+"; DROP ROLE "+member)
		require.NoError(t, err)
		admin.Close()
	})
	// Without INHERIT the member has no right of the owner, but SET ROLE gives all.
	exec(t, admin, "CREATE ROLE %s LOGIN NOINHERIT PASSWORD 'member' IN ROLE payonce_owner", member)
	exec(t, admin, "GRANT CONNECT ON DATABASE %s TO %s", database, member)
	err = open(t, as(t, db.AppURL, url.UserPassword(member, "member")))
	require.ErrorContains(t, err, "owns tables or is a member of payonce_owner")
}

func TestO5_TheApplicationOwnsNothing(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	const sql = `SELECT count(*) FROM pg_shdepend
		WHERE refclassid = 'pg_authid'::regclass AND refobjid = 'payonce_app'::regrole AND deptype = 'o'`
	var owned int
	require.NoError(t, db.App.QueryRow(t.Context(), sql).Scan(&owned))
	require.Zero(t, owned)
	_, err := db.App.Exec(t.Context(), "CREATE TABLE mine ()")
	require.ErrorContains(t, err, "42501")
}

func TestO8_AnOlderSchemaIsRefusedAtStartAndANewerOneIsNot(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"payonce_goose_version", "inbox_goose_version"} {
		db := testkit.NewDatabase(t)
		exec(t, db.Owner, "INSERT INTO %s (version_id, is_applied) VALUES (99999, true)", table)
		require.NoError(t, open(t, db.AppURL))

		exec(t, db.Owner, "DELETE FROM %s WHERE version_id IN (99999, (SELECT max(version_id) FROM %[1]s WHERE version_id < 99999))", table)
		err := open(t, db.AppURL)
		require.ErrorContains(t, err, "run `payctl migrate` first")
		require.ErrorContains(t, err, table)
	}
}

func TestO8_ADatabaseThatWasNeverMigratedIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, open(t, testkit.NewEmptyDatabase(t).AppURL), "run `payctl migrate` first")
}

func TestAServerWithoutASynchronousReplicaIsWarnedAbout(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.WarnLevel)
	db := testkit.NewDatabase(t)
	pool, err := postgres.Open(t.Context(), db.AppURL, postgres.PoolOptions{Log: zap.New(core), ApplicationName: "named"})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	require.Equal(t, 1, logs.Len())
	require.Contains(t, logs.All()[0].Message, "no synchronous replica")

	var name string
	require.NoError(t, pool.QueryRow(t.Context(), "SHOW application_name").Scan(&name))
	require.Equal(t, "named", name)
}

// A transaction pooler keeps no prepared statements for us; these modes use none.
func TestR7_TheChecksWorkInTheModesThatATransactionPoolerNeeds(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	for _, mode := range []string{"exec", "simple_protocol"} {
		require.NoError(t, open(t, with(t, db.AppURL, "default_query_exec_mode", mode)), mode)
		require.ErrorContains(t, open(t, with(t, db.OwnerURL, "default_query_exec_mode", mode)), "owns tables", mode)
	}
}

func TestO6_NoErrorOfTheStartHoldsThePassword(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	bad := map[string]string{
		"no scheme":          "payonce_app:hunter2@localhost/payonce",
		"bad percent":        "postgres://payonce_app:hunter2%zz@localhost/payonce",
		"at in the password": "postgres://payonce_app:hunter2@@@localhost/payonce",
		"slash in it":        "postgres://payonce_app:hun/hunter2@localhost/payonce",
		"bad port":           "postgres://payonce_app:hunter2@localhost:nonsense/payonce",
		"bad parameter":      "postgres://payonce_app:hunter2@localhost/payonce?pool_max_conns=hunter2",
		"key and value":      "host=localhost password='hunter2 port=x",
		"nobody listens":     "postgres://payonce_app:hunter2@127.0.0.1:1/payonce",
		"wrong password":     as(t, db.AppURL, url.UserPassword("payonce_app", "hunter2")),
	}
	for name, url := range bad {
		for _, err := range []error{open(t, url), postgres.Migrate(t.Context(), url)} {
			require.Error(t, err, name)
			require.NotContains(t, err.Error(), "hunter2", name)
		}
	}
}
