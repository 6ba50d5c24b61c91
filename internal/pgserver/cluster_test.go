package pgserver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/leash"
)

func TestAServerThatCannotStartSaysWhyAndLeavesNothing(t *testing.T) {
	t.Parallel()
	account, err := serverAccount()
	require.NoError(t, err)
	folder, err := account.makeFolder()
	require.NoError(t, err)
	bad := Options{Settings: map[string]string{"shared_buffers": "nonsense"}}
	held, err := leash.Hold(folder)
	require.NoError(t, err)
	c := cluster{folder: folder, leash: held, account: account, password: "a password", settings: bad.Settings}
	_, err = c.setUp(t.Context(), bad)
	require.ErrorContains(t, err, `"shared_buffers": "nonsense"`, "the server's own words")
	require.NoDirExists(t, folder)
}
