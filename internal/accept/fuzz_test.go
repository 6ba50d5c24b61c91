package accept

import (
	"math/big"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/pkg/money"
)

// bodies are what FuzzBody begins with: what is taken, and what is refused for one
// reason each.
var bodies = []string{
	`{"invoiceId":"INV-1","paymentType":"invoice","amount":"10.00","currency":"TRY","paymentMethod":"tok_visa"}`,
	`{"currency":"KWD","amount":1.5,"paymentType":"invoice","invoiceId":"INV-1","customer":null,"metadata":{"b":1e2,"a":[-0,1.0,"ş"]}}`,
	`{"invoiceId":"INV 1","paymentType":"x","amount":1000000000000000,"currency":"JPY","chargeBefore":"2036-05-04T03:02:01.9999999+03:00"}`,
	`{"invoiceId":"INV-1","paymentType":"x","amount":"1.000,00","currency":"TRY","externalReference":"PO-1"}`,
	`{"invoiceId":"INV-1","paymentType":"x","amount":1e400,"currency":"TRY"}`,
	`{"invoiceId":"INV-1","paymentType":"x","amount":-0,"currency":"TRY"}`,
	`{"invoiceId":"INV-1","paymentType":"x","amount":1,"\u0061mount":2,"currency":"TRY"}`,
	`{"invoiceId":"\ud800","paymentType":"x","amount":1,"currency":"TRY"}`,
	`{"invoiceId":"4242424242424242","paymentType":"x","amount":"4242424242424242","currency":"XAU"}`,
	"{\"invoiceId\":\"\xff\"}", `[]`, `null`, ``, ` `, `{}{}`, `{"metadata":{"a":9007199254740993}}`,
}

// accepted returns the fingerprint of a body, if it is taken on.
func accepted(t *testing.T, body []byte) (sum idempotency.Fingerprint, ok bool) {
	t.Helper()
	command, err := DecodePayment(body)
	if err != nil {
		return sum, false
	}
	command.IdempotencyKey = "k"
	request, err := command.Validate()
	if err != nil {
		return sum, false
	}
	sum, err = request.canonical().Fingerprint()
	require.NoError(t, err)
	return sum, true
}

// FuzzBody writes each body that is taken on in other ways that mean the same: they
// must be taken on too, as the same request (I8).
func FuzzBody(f *testing.F) {
	for _, body := range bodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		sum, ok := accepted(t, body)
		if !ok {
			return
		}
		spread, sorted := jsontext.Value(body).Clone(), jsontext.Value(body).Clone()
		require.NoError(t, spread.Indent())
		require.NoError(t, sorted.Canonicalize(jsontext.CanonicalizeRawInts(false))) // members in order, numbers and texts in one form
		for _, same := range []jsontext.Value{spread, sorted} {
			again, ok := accepted(t, same)
			require.True(t, ok, "%q is taken on and %q is not", body, same)
			require.Equal(t, sum, again, "%q and %q", body, same)
		}
	})
}

// FuzzAmount computes each amount again with numbers of any length (I10).
func FuzzAmount(f *testing.F) {
	for _, seed := range []string{
		"10.00", "1e2", "1E2", "1e400", "-0", "0.00", "+1", " 1", "1.000,00", "1,000.00", "0.1", "00.1", "1_000", "٣", "１０", "9999999999999999999",
		"NaN", "Inf", "0x10", "1.", ".5", "1000000000000000", "1000000000000000.01",
	} {
		for _, currency := range []string{"TRY", "JPY", "KWD", "CLF", "XAU"} {
			f.Add(seed, currency)
		}
	}
	f.Fuzz(func(t *testing.T, text, currency string) {
		request, err := with(func(c *Command) { c.Amount, c.Currency = text, currency }).Validate()
		if err != nil {
			return
		}
		minor, exponent := request.amount.Minor(), request.amount.Currency().Exponent()
		require.Positive(t, minor)
		require.LessOrEqual(t, minor, money.MinorMax)
		exact, ok := new(big.Rat).SetString(text)
		require.True(t, ok, "%q is no number", text)
		units := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(exponent)), nil)
		require.Zero(t, exact.Mul(exact, new(big.Rat).SetInt(units)).Cmp(new(big.Rat).SetInt64(minor)), "%q %s became %d", text, currency, minor)
		again, err := money.Parse(request.amount.Decimal(), request.amount.Currency())
		require.NoError(t, err)
		require.Equal(t, request.amount, again, "what was read is what was written: %q", text)
	})
}

func FuzzMetadata(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1.0}`, `{"a":9007199254740993}`, `{"b":1,"a":[{}]}`, `{"a":"\ud800"}`, `{"a":1e400}`, `{"a":-0}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		canonical, err := canonicalMetadata(text)
		if err != nil {
			return
		}
		again, err := canonicalMetadata(canonical)
		require.NoError(t, err)
		require.Equal(t, string(canonical), string(again), "the canonical form is its own canonical form")
	})
}
