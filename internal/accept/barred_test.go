package accept

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

const digits = "4242424242424242" // looks like a card number

// strict are the merchant's settings of a later day.
func strict(c *Command) { c.ChecksIdentifiers = true }

func TestI4_I19_ARepeatIsAnsweredWhateverTheRulesAreByNow(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	first := d.accept(t, d.order(t, "k-1", digits))[0]
	require.Equal(t, OutcomeAccepted, first.Outcome)
	results := d.accept(t,
		d.order(t, "k-1", digits, strict),
		d.order(t, "k-1", digits, strict, amount("11.00")),
		d.order(t, "k-2", digits, strict),
		d.order(t, "k-2", digits, strict),
		d.order(t, "k-3", "INV-3", strict))
	require.Equal(t, OutcomeReplayed, results[0].Outcome)
	require.Equal(t, first.PaymentID, results[0].PaymentID)
	require.Equal(t, Result{Outcome: OutcomeMismatched, Differing: []string{FieldAmount}}, results[1])
	for _, refused := range results[2:4] {
		require.Equal(t, OutcomeRefused, refused.Outcome)
		require.True(t, refused.Refusal.CardData)
	}
	require.Equal(t, OutcomeAccepted, results[4].Outcome)
	require.Equal(t, stored(2, 0), d.rows(t))

	settle.Charge(t, d.App, first.Payment, payment.VerdictCaptured)
	require.Equal(t, d.answer(t, first.PaymentID), d.accept(t, d.order(t, "k-1", digits, strict))[0].Answer)
}

func TestI4_OfOneKeyInOneTransactionEachIsJudgedByItsOwnRules(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	results := d.accept(t, d.order(t, "k-1", digits, strict), d.order(t, "k-1", digits), d.order(t, "k-1", digits, strict))
	require.Equal(t, OutcomeRefused, results[0].Outcome)
	require.Equal(t, OutcomeAccepted, results[1].Outcome)
	require.Equal(t, OutcomeReplayed, results[2].Outcome, "the key is known by then")
	require.Equal(t, stored(1, 0), d.rows(t))
}

// A row that is inserted and deleted again is in the log of writes, and in its backups.
func TestI19_WhatMayBeACardNumberIsNotWrittenAtAll(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		results, err := d.rules.Accept(t.Context(), tx, []Request{
			d.order(t, digits, "INV-1", strict), d.order(t, "k-1", "INV-1", func(c *Command) { c.Customer = new(digits) }),
		})
		require.NoError(t, err)
		for _, result := range results {
			require.Equal(t, OutcomeRefused, result.Outcome)
		}
		var wrote bool
		require.NoError(t, tx.QueryRow(t.Context(), "SELECT pg_current_xact_id_if_assigned() IS NOT NULL").Scan(&wrote))
		require.False(t, wrote)
		return nil
	}))
}

func TestI4_I18_ARefundsRepeatIsAnsweredWhateverTheRulesAreByNow(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	first, err := d.refund(t, p, "r-1", digits, "1.00")
	require.NoError(t, err)
	ask := func(key, amount string) (Refunding, error) {
		return d.amendments().Refund(t.Context(), RefundCommand{
			Amendment: d.strictly(p, key), Reference: digits, Amount: amount,
		})
	}
	again, err := ask("r-1", "1.00")
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.RefundID, again.RefundID)
	d.isBarred(t, BarrierKeyReused, func() error { _, err := ask("r-1", "2.00"); return err })
	rows := d.rows(t)
	_, err = ask("r-2", "1.00")
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.True(t, invalid.CardData)
	require.Equal(t, rows, d.rows(t))
}

// strictly is what a merchant who wants identifiers looked at asks for.
func (d *till) strictly(view payment.View, key string) Amendment {
	a := d.about(view, key)
	a.ChecksIdentifiers = true
	return a
}

func TestI4_I19_ACancelsKeyIsLookedAtWhenItIsNewOnly(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p, q := d.created(t, "INV-1"), d.created(t, "INV-2")
	first, err := d.cancel(t, p, digits)
	require.NoError(t, err)
	again, err := d.amendments().Cancel(t.Context(), d.strictly(p, digits))
	require.NoError(t, err)
	require.Equal(t, Canceled{first.Answer, true}, again)
	d.isBarred(t, BarrierKeyReused, func() error { _, err := d.amendments().Cancel(t.Context(), d.strictly(q, digits)); return err })
	rows := d.rows(t)
	_, err = d.amendments().Cancel(t.Context(), d.strictly(q, "4000056655665556"))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	require.True(t, invalid.CardData)
	require.Equal(t, FieldIdempotencyKey, invalid.Fields[0].Field)
	require.NotContains(t, err.Error(), "4000")
	require.Equal(t, rows, d.rows(t))
	require.Equal(t, payment.StateCreated, d.view(t, q.ID).State)
}

func TestI5_UnderAKnownKeyAnotherCurrencyOfARefundIsAFieldThatDiffers(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	ask := func(key, amount, currency string) error {
		_, err := d.amendments().Refund(t.Context(), RefundCommand{Amendment: d.about(p, key), Reference: "R-1", Amount: amount, Currency: &currency})
		return err
	}
	require.NoError(t, ask("r-1", "1.00", "TRY"))
	barrier := d.isBarred(t, BarrierKeyReused, func() error { return ask("r-1", "1.00", "USD") })
	require.Equal(t, []string{FieldCurrency}, barrier.Differing)
	barrier = d.isBarred(t, BarrierKeyReused, func() error { return ask("r-1", "1.000", "KWD") })
	require.Equal(t, []string{FieldAmount, FieldCurrency}, barrier.Differing)
	var invalid *InvalidError
	require.ErrorAs(t, ask("r-2", "1.00", "USD"), &invalid)
	require.Equal(t, []FieldError{{FieldCurrency, "is not the payment's"}}, invalid.Fields)
	require.ErrorAs(t, ask("r-1", "1.00", "usd"), &invalid, "nothing that can be compared")
	require.Equal(t, FieldCurrency, invalid.Fields[0].Field)
}

// A record that waited for days and a client that sends the same request now are in one
// group: only the record may be a repeat that nobody remembers.
func TestI12_AnExpiredCommandDoesNotDecideForOneThatWasSentNow(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	results := d.accept(t, d.order(t, "k-1", "INV-1", sent(100*time.Hour)), d.order(t, "k-1", "INV-1", sent(99*time.Hour)), d.order(t, "k-1", "INV-1"),
		d.order(t, "k-1", "INV-1", sent(98*time.Hour)))
	require.Equal(t, OutcomeExpired, results[0].Outcome)
	require.Equal(t, OutcomeExpired, results[1].Outcome)
	require.Equal(t, OutcomeAccepted, results[2].Outcome)
	require.Equal(t, OutcomeReplayed, results[3].Outcome)
	require.Equal(t, stored(1, 0), d.rows(t))
}
