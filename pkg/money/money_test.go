package money_test

import (
	"fmt"
	"math"
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/pkg/money"
)

func Example() {
	price, _ := money.Parse("19.99", "TRY")
	fee, _ := money.Parse("0.01", "TRY")
	total, err := price.Add(fee)
	fmt.Println(total, total.Minor(), err)
	// Output: 20.00 TRY 2000 <nil>
}

func TestI10_AmountsAreExactMinorUnitsOfTheirCurrency(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		currency money.Currency
		minor    int64
	}{
		{"10.00", "TRY", 1000},
		{"10.5", "USD", 1050},
		{"10", "USD", 1000},
		{"19.99", "USD", 1999}, // int(19.99*100) is 1998 through a float
		{"100", "JPY", 100},    // not ×100, not ÷100
		{"1.234", "KWD", 1234},
		{"0.001", "KWD", 1},
		{"1.005", "KWD", 1005},
		{"0", "TRY", 0},
		{"-3.25", "TRY", -325},
	} {
		got, err := money.Parse(c.text, c.currency)
		require.NoError(t, err, "%s %s", c.text, c.currency)
		require.Equal(t, c.minor, got.Minor(), "%s %s", c.text, c.currency)
	}
}

func TestI10_WhatTheCurrencyCannotRepresentIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text     string
		currency money.Currency
		want     error
	}{
		{"10.005", "TRY", money.ErrTooPrecise},
		{"10.000", "TRY", money.ErrTooPrecise},
		{"1000.004", "USD", money.ErrTooPrecise}, // never equal to 1000.00
		{"100.0", "JPY", money.ErrTooPrecise},
		{"1.2345", "KWD", money.ErrTooPrecise},
		{"1e3", "TRY", money.ErrMalformed},
		{"1.000,00", "TRY", money.ErrMalformed},
		{"1 000", "TRY", money.ErrMalformed},
		{"+1", "TRY", money.ErrMalformed},
		{"-0", "TRY", money.ErrMalformed},
		{"-0.00", "TRY", money.ErrMalformed},
		{"01", "TRY", money.ErrMalformed},
		{".5", "TRY", money.ErrMalformed},
		{"5.", "TRY", money.ErrMalformed},
		{"", "TRY", money.ErrMalformed},
		{"٣", "TRY", money.ErrMalformed},
		{"NaN", "TRY", money.ErrMalformed},
		{"9999999999999999999", "TRY", money.ErrOverflow},
		{"10000000000000.01", "TRY", money.ErrOverflow},
	} {
		_, err := money.Parse(c.text, c.currency)
		require.ErrorIs(t, err, c.want, "%q %s", c.text, c.currency)
	}
}

func TestExponentsFollowISO4217(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]int{"JPY": 0, "KRW": 0, "CLP": 0, "TRY": 2, "USD": 2, "EUR": 2, "HUF": 2, "KWD": 3, "BHD": 3, "TND": 3, "IQD": 3} {
		c, err := money.ParseCurrency(code)
		require.NoError(t, err)
		require.Equal(t, want, c.Exponent(), code)
	}
	for _, bad := range []string{"try", "TL", "", "XXXX", "ABC"} {
		_, err := money.ParseCurrency(bad)
		require.Error(t, err, bad)
	}
}

func TestSumsFailInsteadOfMixingOrOverflowing(t *testing.T) {
	t.Parallel()
	lira, err := money.New(1, "TRY")
	require.NoError(t, err)
	dollar, err := money.New(1, "USD")
	require.NoError(t, err)
	_, err = lira.Add(dollar)
	require.ErrorIs(t, err, money.ErrCurrencyMismatch)
	most, err := money.New(money.MinorMax, "TRY")
	require.NoError(t, err)
	_, err = most.Add(lira)
	require.ErrorIs(t, err, money.ErrOverflow)
	_, err = money.New(math.MinInt64, "TRY")
	require.ErrorIs(t, err, money.ErrOverflow)
}

func TestDecimalAndParseAreInverse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := money.Currency(rapid.SampledFrom([]string{"JPY", "TRY", "KWD", "USD"}).Draw(t, "currency"))
		minor := rapid.Int64Range(-money.MinorMax, money.MinorMax).Draw(t, "minor")
		amount, err := money.New(minor, c)
		require.NoError(t, err)
		again, err := money.Parse(amount.Decimal(), c)
		require.NoError(t, err)
		require.Equal(t, amount, again)
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"10.00", "-1", "1e400", "0.001", "-0", "999999999999999999999", "1000000000000000"} {
		for _, currency := range []string{"TRY", "JPY", "KWD", "CLF"} {
			f.Add(seed, currency)
		}
	}
	plain := regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	f.Fuzz(func(t *testing.T, text, code string) {
		currency, err := money.ParseCurrency(code)
		if err != nil || len(text) > 64 {
			return
		}
		units := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(currency.Exponent())), nil))
		amount, err := money.Parse(text, currency)
		if err != nil { // what is plain, has few enough decimals and is in bounds, is taken
			_, fraction, _ := strings.Cut(text, ".")
			if !plain.MatchString(text) || len(fraction) > currency.Exponent() {
				return
			}
			exact, _ := new(big.Rat).SetString(text)
			minor := exact.Mul(exact, units)
			inBounds := minor.Abs(minor).Cmp(new(big.Rat).SetInt64(money.MinorMax)) <= 0
			negativeZero := minor.Sign() == 0 && text[0] == '-'
			require.False(t, inBounds && !negativeZero, "%q %s: %v", text, code, err)
			return
		}
		require.Regexp(t, plain, text)
		exact, _ := new(big.Rat).SetString(text)
		require.Zero(t, exact.Mul(exact, units).Cmp(new(big.Rat).SetInt64(amount.Minor())), "%q became %d", text, amount.Minor())
		again, err := money.Parse(amount.Decimal(), currency)
		require.NoError(t, err)
		require.Equal(t, amount, again)
	})
}

// A code that a newer list has dropped would have no decimals any more: stored amounts
// would be shown a hundred times too large, and scaled for providers that declare two.
// Who upgrades the list and sees this fail gives the code its decimals in Exponent.
func TestI10_NoCurrencyThatWasEverTakenIsForgotten(t *testing.T) {
	t.Parallel()
	known, err := os.ReadFile("testdata/currencies.txt")
	require.NoError(t, err)
	for line := range strings.Lines(string(known)) {
		var code string
		var exponent int
		_, err := fmt.Sscan(line, &code, &exponent)
		require.NoError(t, err, line)
		require.Equal(t, exponent, money.Currency(code).Exponent(), code)
	}
}

func TestI10_OnlyMoneyIsACurrency(t *testing.T) {
	t.Parallel()
	for why, codes := range map[string]string{
		"no currency, and for tests": "XXX XTS",
		"metals":                     "XAU XAG XPT XPD",
		"baskets and bonds":          "XDR XBA XSU XUA",
		"not any more":               "DEM FRF TRL HRK BGN ZWL SLL MRO STD VEF ANG",
		"not yet, or never":          "BTC TL YTL EURO",
	} {
		for code := range strings.FieldsSeq(codes) {
			_, err := money.ParseCurrency(code)
			require.Error(t, err, "%s: %s", code, why)
		}
	}
}
