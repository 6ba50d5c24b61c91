package demo

import (
	"fmt"
	"math/rand/v2"

	"github.com/payonce/payonce/pkg/money"
)

// order is one payment that a caller wants. It follows from the seed and its number.
type order struct {
	account, key string
	body         string
	doubled      int  // how many more requests go out together with the first
	repeated     bool // one more follows the answer
}

// currencies differ in their decimals: two, none and three.
var currencies = []money.Currency{"TRY", "EUR", "JPY", "KWD"}

// amountMax is in minor units.
const amountMax = 500_00

func (s *stage) order(i int) order {
	chance := rand.New(rand.NewPCG(s.options.Seed, uint64(i))) //nolint:gosec // repeats runs, guards nothing
	o := order{account: withKeys, key: fmt.Sprintf("demo-%d-%d", s.options.Seed, i)}
	if i%2 == 1 {
		o.account = withoutKeys
	}
	currency := currencies[chance.IntN(len(currencies))]
	o.body = fmt.Sprintf(`{"invoiceId":"INV-%d","paymentType":"invoice","amount":%q,"currency":%q,"paymentMethod":"tok_visa"}`,
		i, amount(1+chance.Int64N(amountMax), currency), currency)
	switch u := chance.Float64(); {
	case u < repeatedShare:
		o.repeated = true
	case u < repeatedShare+doubledShare:
		o.doubled = doubledMore
	}
	return o
}

// amount writes minor units as a client does.
func amount(minor int64, currency money.Currency) string {
	a, err := money.New(minor, currency)
	if err != nil {
		panic(err) // not for the currencies and amounts above
	}
	return a.Decimal()
}
