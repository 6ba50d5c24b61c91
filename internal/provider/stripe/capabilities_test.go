package stripe_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/money"
)

// https://docs.stripe.com/currencies
func TestI10_AmountsAreWrittenAsStripeWritesThem(t *testing.T) {
	t.Parallel()
	declared := connect(t, "", stripe.Options{}).Capabilities()
	for _, c := range []struct {
		amount   string
		currency money.Currency
		units    int64
		err      error
	}{
		{"10.00", "USD", 1000, nil},
		{"500", "JPY", 500, nil},
		{"5.120", "KWD", 5120, nil},
		{"5.124", "KWD", 0, provider.ErrUnrepresentable},
		{"5", "ISK", 500, nil},
		{"10.00", "MGA", 10, nil},
		{"10.50", "MGA", 0, provider.ErrUnrepresentable},
		{"5", "UGX", 0, provider.ErrCurrencyUnsupported},
	} {
		amount, err := money.Parse(c.amount, c.currency)
		require.NoError(t, err, "%s %s", c.amount, c.currency)
		units, err := declared.Units(amount)
		require.ErrorIs(t, err, c.err, "%s %s", c.amount, c.currency)
		require.Equal(t, c.units, units, "%s %s", c.amount, c.currency)
		if c.err == nil {
			again, err := declared.FromUnits(units, c.currency)
			require.NoError(t, err)
			require.Equal(t, amount, again)
		}
	}
}

func TestI10_EachDeclaredCurrencyIsActiveAndListedOnce(t *testing.T) {
	t.Parallel()
	seen := map[money.Currency]bool{}
	for _, currency := range connect(t, "", stripe.Options{}).Capabilities().Currencies {
		_, err := money.ParseCurrency(string(currency))
		require.NoError(t, err)
		require.False(t, seen[currency], currency)
		seen[currency] = true
	}
	require.Greater(t, len(seen), 120)
}

// What a case gives back is refunded: a cancel is refused for what holds money.
func TestU7_MoneyGoesBackByARefundAndNotByAVoid(t *testing.T) {
	t.Parallel()
	declared := connect(t, "", stripe.Options{}).Capabilities()
	require.Equal(t, []bool{true, false}, []bool{declared.Refunds, declared.Voids})
}
