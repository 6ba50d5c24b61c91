package demo

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
)

// order is one payment that a caller wants. It follows from the seed and its number.
type order struct {
	call

	doubled   int           // how many more requests go out together with the first
	repeated  bool          // one more follows the answer
	canceled  bool          // is wanted after the answer
	hesitates time.Duration // before it is canceled
	refunds   []wish        // are wanted once it is captured
}

// wish is a refund that a caller wants of a payment.
type wish struct {
	reference string
	amount    string // empty: all that is left
	repeated  bool   // a second request has its key
	renamed   bool   // a second request has its reference, and a key of its own
}

// Which payments are canceled and refunded, as shares of all.
const (
	canceledShare = 0.05
	// lateShare of the cancels come up to hesitatesMax later, when the worker may have
	// been faster.
	lateShare     = 0.5
	hesitatesMax  = 4 * time.Second
	refundedShare = 0.07
	refundsMax    = 3 // of one payment, besides the one for the rest
	// refundTwiceShare of the refunds are asked for twice with one key, and as many
	// twice with one reference; refundRestShare of the payments for all that is left.
	refundTwiceShare = 0.2
	refundRestShare  = 0.3
)

// currencies differ in their decimals: two, none and three.
var currencies = []money.Currency{"TRY", "EUR", "JPY", "KWD"}

// amountMax is in minor units.
const amountMax = 500_00

func (s *stage) order(i int) order {
	chance := rand.New(rand.NewPCG(s.options.Seed, uint64(i))) //nolint:gosec // repeats runs, guards nothing
	o := order{call: call{account: withKeys, key: fmt.Sprintf("demo-%d-%d", s.options.Seed, i), path: "/v1/payments"}}
	if i%2 == 1 {
		o.account = withoutKeys
	}
	currency := currencies[chance.IntN(len(currencies))]
	minor := 1 + chance.Int64N(amountMax)
	o.body = fmt.Sprintf(`{"invoiceId":"INV-%d","paymentType":"invoice","amount":%q,"currency":%q,"paymentMethod":"tok_visa"}`,
		i, amount(minor, currency), currency)
	switch u := chance.Float64(); {
	case u < repeatedShare:
		o.repeated = true
	case u < repeatedShare+doubledShare:
		o.doubled = doubledMore
	}
	switch u := chance.Float64(); {
	case u < canceledShare:
		o.canceled = true
		if chance.Float64() < lateShare {
			o.hesitates = time.Duration(chance.Int64N(int64(hesitatesMax)))
		}
	case u < canceledShare+refundedShare:
		o.refunds = refundsOf(chance, minor, currency)
	}
	return o
}

// refundsOf come to no more than the payment. The last one may ask for what the others
// leave, which is nothing when they are taken on before it and leave nothing.
func refundsOf(chance *rand.Rand, minor int64, currency money.Currency) []wish {
	var refunds []wish
	count := 1 + chance.Int64N(refundsMax)
	for left := minor; count > 0 && left > 0; count-- {
		part := 1 + chance.Int64N(max(1, left/count))
		left -= part
		refunds = append(refunds, wish{
			reference: fmt.Sprintf("R-%d", len(refunds)+1), amount: amount(part, currency),
			repeated: chance.Float64() < refundTwiceShare, renamed: chance.Float64() < refundTwiceShare,
		})
	}
	if chance.Float64() < refundRestShare {
		refunds = append(refunds, wish{reference: "R-rest"})
	}
	return refunds
}

// calls are the requests for a refund, which may go out in any order.
func (r wish) calls(paymentID uuid.UUID, o order) []call {
	c := call{account: o.account, key: o.key + "-" + r.reference, path: "/v1/payments/" + paymentID.String() + "/refunds"}
	c.body = fmt.Sprintf(`{"refundReference":%q,"amount":%q}`, r.reference, r.amount)
	if r.amount == "" {
		c.body = fmt.Sprintf(`{"refundReference":%q}`, r.reference)
	}
	calls := []call{c}
	if r.repeated {
		calls = append(calls, c)
	}
	if r.renamed {
		c.key += "-again"
		calls = append(calls, c)
	}
	return calls
}

// amount writes minor units as a client does.
func amount(minor int64, currency money.Currency) string {
	a, err := money.New(minor, currency)
	if err != nil {
		panic(err) // not for the currencies and amounts above
	}
	return a.Decimal()
}
