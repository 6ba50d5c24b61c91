package testkit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestEachTestHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	first, second := testkit.NewDatabase(t), testkit.NewDatabase(t)
	_, err := first.Owner.Exec(t.Context(), "CREATE TABLE only_here ()")
	require.NoError(t, err)
	var there bool
	require.NoError(t, second.App.QueryRow(t.Context(), "SELECT to_regclass('only_here') IS NOT NULL").Scan(&there))
	require.False(t, there)
}
