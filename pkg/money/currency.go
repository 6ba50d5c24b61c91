package money

import (
	"fmt"

	"github.com/bojanz/currency"
)

// Currency is an ISO 4217 alphabetic code in upper case.
type Currency string

// ParseCurrency accepts the active ISO 4217 codes, in upper case only: a
// request that says "try" was not written by someone who read the contract.
func ParseCurrency(s string) (Currency, error) {
	if s == "" || !currency.IsValid(s) { // the library takes "no currency" as valid
		return "", fmt.Errorf("%q is not an active ISO 4217 currency code in upper case", s)
	}
	return Currency(s), nil
}

// Exponent returns the number of decimals of the currency (JPY 0, TRY 2,
// KWD 3), from the ISO 4217 list that github.com/bojanz/currency maintains.
// Unknown codes have 0, so that nothing is multiplied by accident.
func (c Currency) Exponent() int {
	exponent, ok := currency.GetDigits(string(c))
	if !ok {
		return 0
	}
	return int(exponent)
}
