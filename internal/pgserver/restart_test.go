package pgserver_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pgserver"
)

func TestAServerThatCrashedStartsAgainWithWhatWasCommitted(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{Restartable: true})
	session := connect(t, s.URL())
	folder := ask[string](t, session, "SHOW data_directory")
	_, err := session.Exec(t.Context(), "CREATE TABLE kept (id int); INSERT INTO kept VALUES (7)")
	require.NoError(t, err)
	_, err = session.Exec(t.Context(), "BEGIN; INSERT INTO kept VALUES (8)")
	require.NoError(t, err)

	require.NoError(t, s.Crash())
	_, err = pgx.Connect(t.Context(), s.URL())
	require.ErrorContains(t, err, "refused")
	require.Error(t, session.Ping(t.Context()))

	require.NoError(t, s.StartAgain(t.Context()))
	require.Equal(t, 7, ask[int](t, connect(t, s.URL()), "SELECT id FROM kept"))
	s.Stop()
	require.NoDirExists(t, folder)
}

func TestAServerThatIsNotRestartableIsNotCrashed(t *testing.T) {
	t.Parallel()
	s := start(t, pgserver.Options{})
	require.Error(t, s.Crash())
	require.Error(t, s.StartAgain(t.Context()))
	folder := ask[string](t, connect(t, s.URL()), "SHOW data_directory")
	_, err := os.Stat(folder)
	require.NoError(t, err)
}
