package provider

import (
	"errors"
	"fmt"

	"github.com/payonce/payonce/pkg/money"
)

// exponentMax is beyond every currency's decimals (CLF and UYW have 4) and keeps
// a scaled amount from overflowing.
const exponentMax = 4

// Errors that intake branches on.
var (
	ErrCurrencyUnsupported = errors.New("the provider does not support the currency")
	ErrUnrepresentable     = errors.New("the provider cannot represent the amount")
)

// Units returns the amount in the provider's own minor units: JPY 100 is 10000 at
// a provider that gives JPY two decimals. It is exact or an error, never rounded.
//
// Errors: ErrCurrencyUnsupported, ErrUnrepresentable, money.ErrOverflow.
func (c Capabilities) Units(a money.Amount) (int64, error) {
	if !c.Supports(a.Currency()) {
		return 0, fmt.Errorf("%s: %w", a.Currency(), ErrCurrencyUnsupported)
	}
	units, err := scale(a.Minor(), c.exponent(a.Currency())-a.Currency().Exponent())
	if err != nil {
		return 0, err
	}
	if multiple := c.Multiples[a.Currency()]; multiple > 1 && units%multiple != 0 {
		return 0, fmt.Errorf("%s must be a multiple of %d in the provider's units: %w", a, multiple, ErrUnrepresentable)
	}
	return units, nil
}

// FromUnits reads the provider's minor units back into an amount.
//
// Errors: ErrUnrepresentable, money.ErrOverflow.
func (c Capabilities) FromUnits(units int64, currency money.Currency) (money.Amount, error) {
	minor, err := scale(units, currency.Exponent()-c.exponent(currency))
	if err != nil {
		return money.Amount{}, err
	}
	return money.New(minor, currency)
}

func (c Capabilities) exponent(currency money.Currency) int {
	if exponent, ok := c.Exponents[currency]; ok {
		return exponent
	}
	return currency.Exponent()
}

// scale multiplies by ten to the power of digits, which may be negative.
func scale(units int64, digits int) (int64, error) {
	for ; digits > 0; digits-- {
		if units > money.MinorMax || units < -money.MinorMax {
			return 0, money.ErrOverflow
		}
		units *= 10
	}
	for ; digits < 0; digits++ {
		if units%10 != 0 {
			return 0, ErrUnrepresentable
		}
		units /= 10
	}
	return units, nil
}
