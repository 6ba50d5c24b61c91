// Package money holds amounts as whole minor units of one ISO 4217 currency.
//
//	"10.00" + TRY ──> Amount{1000, TRY} ──> "10.00"
//
// An amount never passes through a float and is never rounded: text that the
// currency cannot represent exactly is an error, and so is a sum that mixes
// currencies or leaves the range. The zero Amount has no currency and means
// "no amount was given"; it is not zero of anything.
package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// MinorMax bounds one amount, in minor units: ten trillion of a two-decimal
// currency. A thousand of them still sum inside int64, and a larger request is
// far more often a unit mistake than a payment.
const MinorMax int64 = 1_000_000_000_000_000

// Errors that callers branch on.
var (
	ErrCurrencyMismatch = errors.New("the amounts have different currencies")
	ErrOverflow         = errors.New("the amount is beyond the largest that is supported")
	ErrMalformed        = errors.New("the amount is not a plain decimal number")
	ErrTooPrecise       = errors.New("the amount has more decimals than the currency")
)

// Amount is a whole number of a currency's minor units. Amounts are comparable
// with ==. Amounts may be negative inside sums; what a request may hold is the
// business of whoever accepts it.
type Amount struct {
	minor    int64
	currency Currency
}

// New builds an amount from minor units: New(1000, "TRY") is 10.00 TRY. It
// returns ErrOverflow beyond MinorMax.
func New(minor int64, c Currency) (Amount, error) {
	if minor > MinorMax || minor < -MinorMax {
		return Amount{}, fmt.Errorf("%d %s: %w", minor, c, ErrOverflow)
	}
	return Amount{minor: minor, currency: c}, nil
}

// Parse reads a plain decimal such as "10", "10.5" or "-3.25" exactly. It
// refuses exponents, signs other than one leading minus, white space, digit
// grouping, and digits beyond the currency's decimals even when they are zero,
// because "10.000" TRY is more likely a mistake of unit than a habit of style.
//
// Errors: ErrMalformed, ErrTooPrecise, ErrOverflow.
func Parse(text string, c Currency) (Amount, error) {
	unsigned, negative := strings.CutPrefix(text, "-")
	whole, fraction, hasPoint := strings.Cut(unsigned, ".")
	if !digits(whole) || (hasPoint && !digits(fraction)) {
		return Amount{}, ErrMalformed
	}
	if len(whole) > 1 && whole[0] == '0' {
		return Amount{}, ErrMalformed
	}
	exponent := c.Exponent()
	if len(fraction) > exponent {
		return Amount{}, fmt.Errorf("%s has %d decimals: %w", c, exponent, ErrTooPrecise)
	}
	scaled := whole + fraction + strings.Repeat("0", exponent-len(fraction))
	minor, err := strconv.ParseInt(scaled, 10, 64)
	if err != nil {
		return Amount{}, ErrOverflow // digits only, so range is all that can fail
	}
	if negative {
		if minor == 0 {
			return Amount{}, ErrMalformed
		}
		minor = -minor
	}
	return New(minor, c)
}

// Minor returns the amount in minor units.
func (a Amount) Minor() int64 { return a.minor }

// Currency returns the amount's currency, empty for the zero Amount.
func (a Amount) Currency() Currency { return a.currency }

// IsZero reports whether a is the zero Amount: no number and no currency.
func (a Amount) IsZero() bool { return a == Amount{} }

// Decimal renders the amount with exactly the currency's decimals: "10.00".
func (a Amount) Decimal() string {
	exponent := a.currency.Exponent()
	sign, magnitude := "", uint64(a.minor) //nolint:gosec // negated below, so that math.MinInt64 cannot occur
	if a.minor < 0 {
		sign, magnitude = "-", uint64(-a.minor) // |minor| ≤ MinorMax
	}
	text := strconv.FormatUint(magnitude, 10)
	if exponent == 0 {
		return sign + text
	}
	if pad := exponent + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	point := len(text) - exponent
	return sign + text[:point] + "." + text[point:]
}

// String renders amount and currency for people: "10.00 TRY".
func (a Amount) String() string {
	if a.IsZero() {
		return "no amount"
	}
	return a.Decimal() + " " + string(a.currency)
}

// Add returns a + b, or ErrCurrencyMismatch, or ErrOverflow.
func (a Amount) Add(b Amount) (Amount, error) {
	if a.currency != b.currency {
		return Amount{}, fmt.Errorf("%s and %s: %w", a.currency, b.currency, ErrCurrencyMismatch)
	}
	if (b.minor > 0 && a.minor > math.MaxInt64-b.minor) || (b.minor < 0 && a.minor < math.MinInt64-b.minor) {
		return Amount{}, ErrOverflow
	}
	return New(a.minor+b.minor, a.currency)
}

// Sub returns a − b under the same rules as Add.
func (a Amount) Sub(b Amount) (Amount, error) {
	return a.Add(Amount{minor: -b.minor, currency: b.currency})
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
