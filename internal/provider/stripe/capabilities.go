package stripe

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
)

// horizon is how long Stripe surely knows a key: keys may be removed once they are
// at least 24 hours old (https://docs.stripe.com/api/idempotent_requests).
const horizon = 24 * time.Hour

// capabilities are what Stripe's documentation promises.
//
// Keys: the status and body of the first request are saved once its execution has
// begun, whether it succeeds or fails, and repeated; other parameters are refused;
// a second request beside the first is refused with 409 and not saved
// (https://docs.stripe.com/api/idempotent_requests).
//
// 429: rate limiters run before the layer that keeps keys, so nothing was executed
// (https://docs.stripe.com/error-low-level). The connector takes only the code
// rate_limit for it: a lock_timeout is another request at work on our object.
//
// Inquiry: an object is retrieved by its id, not searched for. A search may be an
// hour behind (https://docs.stripe.com/search) and is left to people.
//
// Refunds: of a PaymentIntent that succeeded (https://docs.stripe.com/api/refunds/create).
// Voids are not declared: a cancel is refused for one that holds money
// (https://docs.stripe.com/api/payment_intents/cancel).
func capabilities(o Options) provider.Capabilities {
	return provider.Capabilities{
		Key: provider.Key{
			Supported: true, Header: "Idempotency-Key", LengthMax: 255, Horizon: horizon,
			Replay: provider.ReplayFirstAnswer, Mismatch: provider.MismatchRefused, KeepsFailures: true, Serialises: true,
		},
		Inquiry:          provider.Inquiry{Supported: true, NotFoundAuthoritative: true, Grace: orDefault(o.Grace, GraceDefault)},
		VoidByReference:  true,
		Refunds:          true,
		Prepares:         true,
		NotTakenStatuses: []int{http.StatusTooManyRequests},
		Currencies:       supported,
		Exponents:        exponents(),
		Multiples:        multiples(),
		Timeout:          orDefault(o.Timeout, TimeoutDefault),
	}
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d == 0 {
		return fallback
	}
	return d
}

// The currencies by how Stripe writes their amounts
// (https://docs.stripe.com/currencies). UGX is left out: that page lists it as
// having no decimals, and as having to be written with two. A factor of a hundred
// is not for us to guess.
var (
	twoDecimals = currencies(`AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP
		CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR JMD KES KGS KHR KYD KZT LAK
		LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD
		RUB SAR SBD SCR SEK SGD SHP SLE SOS SRD SZL THB TJS TOP TRY TTD TWD TZS UAH USD UYU UZS WST XCD YER ZAR ZMW`)
	noDecimals = currencies(`BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF`)
	// threeDecimals must end in 0: the card networks behind Stripe take two.
	threeDecimals = currencies(`BHD JOD KWD OMR TND`)
	// writtenWithTwo have no decimals and are written with two, which are 00.
	writtenWithTwo = currencies(`ISK`)

	supported = slices.Concat(twoDecimals, noDecimals, threeDecimals, writtenWithTwo)
)

func currencies(list string) []money.Currency {
	var all []money.Currency
	for code := range strings.FieldsSeq(list) {
		all = append(all, money.Currency(code))
	}
	return all
}

// exponents are Stripe's decimals where ISO 4217 has others.
func exponents() map[money.Currency]int {
	differing := map[money.Currency]int{}
	note := func(list []money.Currency, decimals int) {
		for _, currency := range list {
			if currency.Exponent() != decimals {
				differing[currency] = decimals
			}
		}
	}
	note(twoDecimals, 2)
	note(noDecimals, 0)
	note(threeDecimals, 3)
	note(writtenWithTwo, 2)
	return differing
}

func multiples() map[money.Currency]int64 {
	tens := map[money.Currency]int64{}
	for _, currency := range threeDecimals {
		tens[currency] = 10
	}
	return tens
}
