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
}
