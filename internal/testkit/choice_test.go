package testkit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pgserver"
)

// A run that was meant for the newest PostgreSQL must not be green on another one.
func TestTheTestsRunOnThePostgreSQLThatWasChosen(t *testing.T) {
	t.Parallel()
	choice, err := ChosenPostgres()
	require.NoError(t, err)
	server, err := testServer()
	require.NoError(t, err)
	major := server.admin.MajorVersion()
	t.Logf("the tests run on PostgreSQL %d", major)
	if choice == DownloadedPostgres {
		require.Equal(t, pgserver.DownloadedMajor, major)
	}
}

func TestO6_APostgreSQLThatNobodyKnowsIsAnError(t *testing.T) {
	t.Setenv(PostgresEnv, "downlaod")
	_, err := ChosenPostgres()
	require.EqualError(t, err, `PAYONCE_TEST_POSTGRES is "downlaod": set it to download, or leave it out`)
	t.Setenv(PostgresEnv, "")
	choice, err := ChosenPostgres()
	require.NoError(t, err)
	require.Equal(t, AnyPostgres, choice)
}
