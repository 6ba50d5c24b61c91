package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
)

func TestAnAccountIsPartOfTheRecipeAndLearntOnce(t *testing.T) {
	t.Parallel()
	var identity provider.Identity
	require.False(t, identity.Known())
	require.Empty(t, identity.Recipe("stripe/1"), "nothing is sent by a recipe without a name")
	identity.Learn("acct_1")
	identity.Learn("acct_2")
	require.True(t, identity.Known())
	require.Equal(t, "stripe/1@acct_1", identity.Recipe("stripe/1"))
}

func TestRecipesOfOneAccountAreToldFromThoseOfAnother(t *testing.T) {
	t.Parallel()
	require.True(t, provider.SameAccount("stripe/1@acct_1", "stripe/2@acct_1"), "another version asks the same account")
	require.False(t, provider.SameAccount("stripe/1@acct_1", "stripe/1@acct_2"))
	require.True(t, provider.SameAccount("stripe/1", "stripe/1@acct_2"), "an attempt that names none does not know")
	require.True(t, provider.SameAccount("", "stripe/1@acct_2"))
}
