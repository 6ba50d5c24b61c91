package accept

import (
	"errors"
	"fmt"
	"strings"

	"github.com/payonce/payonce/pkg/money"
)

// parseAmount reads an amount exactly. It returns the zero Amount when it has
// added what is wrong.
func (e *InvalidError) parseAmount(text, code string) money.Amount {
	currency := e.parseCurrency(code)
	switch {
	case text == "":
		e.add(FieldAmount, "is required")
		return money.Amount{}
	case currency == "" && len(text) <= amountCharsMax:
		return money.Amount{}
	}
	return e.parseAmountIn(text, currency)
}

// parseCurrency reads a code. It returns none when it has added what is wrong.
func (e *InvalidError) parseCurrency(code string) money.Currency {
	currency, err := money.ParseCurrency(code)
	if err != nil {
		e.add(FieldCurrency, "is not an active ISO 4217 currency code in upper case")
	}
	return currency
}

// parseAmountIn reads an amount of a currency that is known, as that of a payment is,
// for ever.
func (e *InvalidError) parseAmountIn(text string, currency money.Currency) money.Amount {
	if len(text) > amountCharsMax {
		e.add(FieldAmount, "is longer than any amount that is supported")
		return money.Amount{}
	}
	amount, err := money.Parse(text, currency)
	switch {
	case errors.Is(err, money.ErrTooPrecise):
		e.add(FieldAmount, fmt.Sprintf("has more than the %d decimals of %s", currency.Exponent(), currency))
	case errors.Is(err, money.ErrOverflow):
		e.add(FieldAmount, "is beyond the largest amount that is supported")
	case err != nil && strings.ContainsAny(text, "eE"):
		e.add(FieldAmount, "must be a plain decimal without an exponent, such as 10.00")
	case err != nil:
		e.add(FieldAmount, "is not a plain decimal number, such as 10.00")
	case amount.Minor() <= 0:
		e.add(FieldAmount, "must be greater than zero")
	}
	return amount
}
