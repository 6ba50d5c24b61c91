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
	t.Setenv(PostgresEnv, "upload")
	_, err := ChosenPostgres()
	require.EqualError(t, err, `PAYONCE_TEST_POSTGRES is "upload": set it to download or container, or leave it out`)
	t.Setenv(PostgresEnv, "")
	choice, err := ChosenPostgres()
	require.NoError(t, err)
	require.Equal(t, AnyPostgres, choice)
}

func TestO6_AKafkaThatNobodyKnowsIsAnError(t *testing.T) {
	t.Setenv(KafkaEnv, "docker")
	_, err := ChosenKafka()
	require.EqualError(t, err, `PAYONCE_TEST_KAFKA is "docker": set it to container, or leave it out`)
	t.Setenv(KafkaEnv, "")
	choice, err := ChosenKafka()
	require.NoError(t, err)
	require.Equal(t, AnyKafka, choice)
}

func TestO6_AContainerIsRefusedWhereItCannotBeStarted(t *testing.T) {
	t.Setenv(DatabaseEnv, "")
	t.Setenv(PostgresEnv, "container")
	_, err := testAdmin(t.Context())
	require.ErrorContains(t, err, "make test-containers")
	t.Setenv(BrokersEnv, "")
	t.Setenv(KafkaEnv, "container")
	_, err = startBroker(t.Context())
	require.ErrorContains(t, err, "make test-containers")
}
