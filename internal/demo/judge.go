package demo

import (
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// judge counts what agrees and what does not. It looks at nothing but the findings.
func (f *findings) judge() Report {
	r := Report{Takeovers: f.Takeovers, guesses: f.guesses}
	f.judgePayments(&r)
	f.judgeProviders(&r)
	f.judgeRefunds(&r)
	f.judgeRefunded(&r)
	f.judgeBooks(&r)
	f.judgeEvents(&r)
	f.judgeBills(&r)
	return r
}

// judgePayments looks for each payment that a client was told of. Those that exist
// and nobody was told of are no better: their clients would pay again.
func (f *findings) judgePayments(r *Report) {
	r.Accepted = len(f.accepted)
	for id := range f.accepted {
		switch c, found := f.charges[id]; {
		case !found:
			r.Lost++
		case c.captured():
			r.Captured++
		case c.State == payment.StateCanceled:
			r.Canceled++
			r.Failed++
		case c.State.Final():
			r.Failed++
		default:
			r.UnknownOpen++
		}
	}
	for id := range f.charges {
		if _, known := f.accepted[id]; !known {
			r.untold++
		}
	}
	for id := range f.canceled {
		if f.charges[id].State != payment.StateCanceled {
			r.unequalAnswers++
		}
	}
}

// judgeProviders compares what was charged with what we say. A payment that was
// charged twice is a double charge also when one of the charges was voided or
// refunded later: the money moved. Only charges that still stand are provider charges.
func (f *findings) judgeProviders(r *Report) {
	asked := map[string]pspsim.Counts{}
	held := map[money.Currency]int64{}
	for _, oracle := range f.oracles {
		for reference, counts := range oracle.References {
			asked[reference] = counts
			r.Sends += counts.Sends
			r.ProviderCharges += counts.Charged - counts.Voided
			if counts.Charged > 1 {
				r.DoubleCharges++
			}
		}
		for currency, total := range oracle.Totals {
			held[money.Currency(currency)] += total.Charged - total.Refunded
		}
	}
	for _, c := range f.charges {
		counts := asked[c.Operation.String()]
		stand := counts.Charged - counts.Voided
		for _, refund := range c.GivenBack {
			refunded := asked[refund.String()].Refunded
			stand, r.ProviderCharges = stand-refunded, r.ProviderCharges-refunded
		}
		if (stand > 0) != c.captured() || (c.State == payment.StateCanceled && counts.Charged > 0) {
			r.disagreements++
		}
	}
	f.take(held)
	r.wrongTotals = nonZero(held)
}

// take takes what we say that providers hold from what they hold: what was captured and
// not refunded.
func (f *findings) take(held map[money.Currency]int64) {
	for _, c := range f.charges {
		if c.captured() {
			held[c.Currency] -= c.Minor
		}
	}
	for _, back := range f.refunds {
		if back.Reference != "" && back.succeeded() {
			held[back.Currency] += back.Minor
		}
	}
}

// judgeBooks looks at each balance. Per currency the entries sum to zero, each
// merchant is owed what was captured for it and not refunded, and nothing is left in
// suspense.
func (f *findings) judgeBooks(r *Report) {
	type account struct {
		code     string
		currency money.Currency
	}
	sums, owed := map[money.Currency]int64{}, map[account]int64{}
	for _, b := range f.balances {
		r.LedgerSum += b.Minor
		sums[b.Currency] += b.Minor
		if strings.HasPrefix(b.Account, "merchant:") || strings.HasSuffix(b.Account, ":suspense") {
			owed[account{b.Account, b.Currency}] += b.Minor // a credit is negative
		}
	}
	for _, c := range f.charges {
		if c.captured() {
			owed[account{payable(c.Merchant), c.Currency}] += c.Minor
		}
	}
	for _, back := range f.refunds {
		if back.Reference != "" && back.succeeded() {
			owed[account{payable(f.charges[back.Payment].Merchant), back.Currency}] -= back.Minor
		}
	}
	r.wrongBalances += nonZero(sums) + nonZero(owed)
}

// payable is the account of what a merchant is owed (L1).
func payable(merchant uuid.UUID) string { return "merchant:" + merchant.String() + ":payable" }

func nonZero[K comparable](sums map[K]int64) int {
	n := 0
	for _, sum := range sums {
		if sum != 0 {
			n++
		}
	}
	return n
}

// judgeEvents compares the topics with the history: every event that was committed
// is there and as its schema says, no other one is, and a payment's first deliveries
// are in its order.
func (f *findings) judgeEvents(r *Report) {
	r.EventsPublished, r.eventsTold = len(f.delivered), len(f.told)
	r.eventsMissing, r.EventsInvalid = f.Unpublished, f.invalid
	outcomes := map[uuid.UUID][]uuid.UUID{}
	for _, t := range f.told {
		if f.delivered[t.Event] == 0 {
			r.eventsMissing++
		}
		if t.Outcome {
			outcomes[t.Payment] = append(outcomes[t.Payment], t.Event)
		}
	}
	for _, times := range f.delivered {
		if times > 1 {
			r.repeatedEvents++
		}
	}
	for id, events := range outcomes {
		if !slices.Equal(events, f.order[id]) {
			r.disorderly++
		}
	}
}

// judgeBills compares billing's rows with the captured payments.
func (f *findings) judgeBills(r *Report) {
	r.Billed = len(f.bills)
	for _, b := range f.bills {
		if c := f.charges[b.Payment]; !c.captured() || c.Minor != b.Minor || c.Currency != b.Currency {
			r.wrongBills++
		}
	}
}
