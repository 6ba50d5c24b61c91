package demo

import (
	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
)

// judgeRefunds looks for each refund that a client was told of, as judgePayments does,
// and compares each with what the provider gave back. What was given back twice under
// one reference of a merchant is a double refund, whatever it was asked for with.
func (f *findings) judgeRefunds(r *Report) {
	type name struct {
		payment   uuid.UUID
		reference string
	}
	for id := range f.answered {
		switch back, found := f.refunds[id]; {
		case !found:
			r.LostRefunds++
		case !back.State.Final():
			r.openRefunds++
		case back.succeeded():
			r.Refunds++
		}
	}
	given, wanted := f.given(), map[name]int{}
	for id, back := range f.refunds {
		times := given[id.String()]
		if (times > 0) != back.succeeded() {
			r.disagreements++
		}
		if back.Reference == "" {
			if times > 1 {
				r.DoubleRefunds++
			}
			continue
		}
		wanted[name{back.Payment, back.Reference}] += times
		if _, known := f.answered[id]; !known {
			r.untold++
		}
	}
	for _, times := range wanted {
		if times > 1 {
			r.DoubleRefunds++
		}
	}
}

// given says how often the providers gave something back, by their references.
func (f *findings) given() map[string]int {
	given := map[string]int{}
	for _, oracle := range f.oracles {
		for reference, counts := range oracle.References {
			given[reference] += counts.Refunded
		}
	}
	return given
}

// judgeRefunded compares sums. Per currency the providers gave back what succeeded, a
// payment says what has not failed, and each refund took what it gave from what its
// merchant is owed.
func (f *findings) judgeRefunded(r *Report) {
	totals, counted := map[money.Currency]int64{}, map[uuid.UUID]int64{}
	for _, oracle := range f.oracles {
		for currency, total := range oracle.Totals {
			totals[money.Currency(currency)] += total.Refunded
		}
	}
	for _, back := range f.refunds {
		owed := int64(0)
		if back.succeeded() {
			totals[back.Currency] -= back.Minor
			owed = back.Minor
		}
		if back.Reference == "" {
			continue
		}
		if back.Owed != owed {
			r.wrongBalances++
		}
		if back.counts() {
			counted[back.Payment] += back.Minor
		}
	}
	r.wrongRefunded = nonZero(totals)
	for id, c := range f.charges {
		if c.Refunded != counted[id] || c.Refunded > c.Minor || (c.Refunded > 0 && !c.captured()) {
			r.wrongBalances++
		}
	}
}
