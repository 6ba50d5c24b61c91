package provider_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
)

func TestU8_AnEventOfAnotherAccountAtTheProviderIsNotOurs(t *testing.T) {
	t.Parallel()
	require.True(t, provider.Notice{}.IsOf("stripe/1@acct_1"))
	require.True(t, provider.Notice{Account: "acct_1"}.IsOf("stripe/1@acct_1"))
	require.False(t, provider.Notice{Account: "acct_2"}.IsOf("stripe/1@acct_1"))
	require.True(t, provider.Notice{Account: "acct_2"}.IsOf(""), "a recipe that names none does not know")
	require.True(t, provider.Notice{Account: "a/b"}.IsOf("x/1@a/b"))
}

func TestU8_AnEventOfTestModeSaysNothingOfPaymentsWithMoney(t *testing.T) {
	t.Parallel()
	live, test := "stripe/2@"+provider.InMode("acct_1", "live"), "stripe/2@"+provider.InMode("acct_1", "test")
	require.False(t, provider.SameAccount(live, test))
	require.True(t, provider.Notice{Mode: "live"}.IsOf(live))
	require.True(t, provider.Notice{Account: "acct_1", Mode: "live"}.IsOf(live))
	require.False(t, provider.Notice{Mode: "test"}.IsOf(live))
	require.False(t, provider.Notice{Account: "acct_2", Mode: "live"}.IsOf(live))
	require.False(t, provider.Notice{Mode: "test"}.IsOf("stripe/2@acct_1"), "and does not count where the mode is not known")
}
