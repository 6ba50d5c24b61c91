package provider_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
)

func TestU1_CapabilitiesThatContradictThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	fine := provider.Capabilities{
		Key:     provider.Key{Supported: true, LengthMax: 36, Horizon: time.Hour},
		Inquiry: provider.Inquiry{Supported: true, NotFoundAuthoritative: true, Grace: time.Second},
		Timeout: time.Second,
	}
	require.NoError(t, fine.Validate())
	require.Error(t, provider.Capabilities{}.Validate(), "a connector that declares nothing must at least bound its calls")
	for name, spoil := range map[string]func(*provider.Capabilities){
		"a key without a horizon":                  func(c *provider.Capabilities) { c.Key.Horizon = 0 },
		"a key too short for an operation id":      func(c *provider.Capabilities) { c.Key.LengthMax = 32 },
		"a horizon without a key":                  func(c *provider.Capabilities) { c.Key = provider.Key{Horizon: time.Hour} },
		"an authoritative not-found without grace": func(c *provider.Capabilities) { c.Inquiry.Grace = 0 },
		"a negative grace":                         func(c *provider.Capabilities) { c.Inquiry.Grace = -1 },
		"a not-found without an inquiry":           func(c *provider.Capabilities) { c.Inquiry.Supported = false },
		"a gateway's 502 as not taken":             func(c *provider.Capabilities) { c.NotTakenStatuses = []int{502} },
		"a 408 as not taken":                       func(c *provider.Capabilities) { c.NotTakenStatuses = []int{408} },
		"decimals beyond any currency":             func(c *provider.Capabilities) { c.Exponents = map[money.Currency]int{"TRY": 9} },
		"two lists of currencies": func(c *provider.Capabilities) {
			c.AnyCurrency, c.Currencies = true, []money.Currency{"TRY"}
		},
	} {
		spoilt := fine
		spoil(&spoilt)
		require.Error(t, spoilt.Validate(), name)
	}
}

func TestI10_TheProvidersOwnDecimalsAreExactOrRefused(t *testing.T) {
	t.Parallel()
	c := provider.Capabilities{
		Currencies: []money.Currency{"TRY", "JPY", "KWD"},
		Exponents:  map[money.Currency]int{"JPY": 2, "KWD": 2},
	}
	for _, test := range []struct {
		text     string
		currency money.Currency
		units    int64
		err      error
	}{
		{"10.00", "TRY", 1000, nil},
		{"100", "JPY", 10000, nil}, // a provider that gives the yen two decimals
		{"1.230", "KWD", 123, nil}, // one that gives the dinar two
		{"1.234", "KWD", 0, provider.ErrUnrepresentable},
		{"1.00", "USD", 0, provider.ErrCurrencyUnsupported},
	} {
		amount, err := money.Parse(test.text, test.currency)
		require.NoError(t, err)
		units, err := c.Units(amount)
		require.ErrorIs(t, err, test.err, "%s %s", test.text, test.currency)
		if test.err != nil {
			continue
		}
		require.Equal(t, test.units, units)
		again, err := c.FromUnits(units, test.currency)
		require.NoError(t, err)
		require.Equal(t, amount, again)
	}
	_, err := c.FromUnits(12345, "JPY")
	require.ErrorIs(t, err, provider.ErrUnrepresentable, "123.45 yen is no amount of ours")
}

func TestALaterDeclineCoversOnlyWhereAnEarlierRequestThatArrivesLateIsNoNewTry(t *testing.T) {
	t.Parallel()
	require.True(t, provider.Key{Supported: true, Serialises: true, KeepsFailures: true}.LaterDeclineCovers())
	require.False(t, provider.Key{Supported: true, Serialises: true}.LaterDeclineCovers())
	require.False(t, provider.Key{Supported: true, KeepsFailures: true}.LaterDeclineCovers())
	require.False(t, provider.Key{}.LaterDeclineCovers())
}

func TestI10_AnAmountThatIsNoMultipleIsRefused(t *testing.T) {
	t.Parallel()
	c := provider.Capabilities{Currencies: []money.Currency{"KWD"}, Multiples: map[money.Currency]int64{"KWD": 10}, Timeout: time.Second}
	require.NoError(t, c.Validate())
	for text, err := range map[string]error{"1.230": nil, "1.234": provider.ErrUnrepresentable} {
		amount, parseErr := money.Parse(text, "KWD")
		require.NoError(t, parseErr)
		_, got := c.Units(amount)
		require.ErrorIs(t, got, err, text)
	}
	c.Multiples["KWD"] = 1
	require.Error(t, c.Validate())
}

func TestAnAttemptThatPreparesMakesTwoCalls(t *testing.T) {
	t.Parallel()
	require.Equal(t, time.Second, provider.Capabilities{Timeout: time.Second}.AttemptTimeout())
	require.Equal(t, 2*time.Second, provider.Capabilities{Timeout: time.Second, Prepares: true}.AttemptTimeout())
}
