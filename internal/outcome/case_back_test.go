package outcome_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestB3_AChargeWhoseWrongMoneyAPersonDismissedFailsByALaterNo(t *testing.T) {
	t.Parallel()
	for name, movement := range map[string]string{"named": "ch_1", "without a name": ""} {
		for told, no := range map[string]func(*desk, operation.NewPayment) outcome.Outcome{
			"by a person": func(d *desk, p operation.NewPayment) outcome.Outcome {
				return d.word(p, evidence.Operator, payment.VerdictNotTaken, authoritative, settle)
			},
			"by the provider": func(d *desk, p operation.NewPayment) outcome.Outcome { return d.voided(p, "ch_1") },
		} {
			t.Run(name+", "+told, func(t *testing.T) {
				t.Parallel()
				d := newDesk(t)
				p, a := d.claimed()
				d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named(movement)))
				require.NoError(t, d.decide(d.onlyCase(p), casework.Dismiss))
				d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
				d.SetNow(t, time.Minute)
				d.apply(answer(a, payment.VerdictNotTaken))
				d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch) // it is never sent again
				require.Equal(t, payment.OperationFailed, d.apply(no(d, p)).To)
				d.booked(0)
			})
		}
	}
}

func TestB3_AChargeThatWasCorrectedWhileItsMoneyWentBackFailsByAPersonsWord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Refund))
	d.carryOut(refunds)
	back := d.compensation()
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")), answer(back, payment.VerdictCaptured))
	d.SetNow(t, time.Minute)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative, settle))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch) // 0.01 of it is left
	d.apply(d.word(p, evidence.Operator, payment.VerdictNotTaken, authoritative, settle))
	d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)
	d.booked(0)
}

func TestU7_ARefundThatCannotBeSentGoesBackToAPerson(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{provider.ReasonInvalidOperation, provider.ReasonUnsupported} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := d.charged()
			d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
			d.carryOut(refunds)
			d.apply(answer(d.compensation(), payment.VerdictUnclear, notSent, because(reason)))
			d.leftToAPerson(d.onlyCase(p))
			require.NoError(t, d.decide(d.onlyCase(p), casework.Dismiss))
			d.booked(1000)
		})
	}
}

// What a reference means at one account it does not mean at another: the refund could
// hit somebody else's charge, or nothing.
func TestP7_ARefundGoesToTheAccountThatTookTheMoney(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	at := func(account string) operation.Claim {
		c := claim
		c.Served = []operation.Served{{Account: fixture.Account, Recipe: "recipe/1@" + account, Horizon: time.Hour}}
		return c
	}
	p := fixture.Accept(t, d.pool)
	d.SetNow(t, time.Minute)
	charge := d.dueNow(at("acct_1"))[0]
	d.apply(answer(charge, payment.VerdictCaptured, named("ch_1")))
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
	d.carryOut(refunds)
	require.Empty(t, d.dueNow(at("acct_2")))
	d.SetNow(t, 2*time.Minute)
	require.Len(t, d.dueNow(at("acct_1")), 1)
}

func TestU7_AWordThatNamesACaseLeavesAPersonsOrderAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := fixture.Accept(t, d.pool)
	d.cancel(p)
	d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	require.Equal(t, casework.PlanAdopt, d.onlyCase(p).Plan, "a rule would refund it")
	require.Equal(t, casework.Adopted, d.carry(d.onlyCase(p)).Resolution)
	d.booked(1000)
}

func TestU7_WhatMayHaveBeenGivenBackIsNotAdopted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.declined()
	rival := fixture.Accept(t, d.pool, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	d.carryOut(refunds)
	back := d.compensation()
	d.apply(answer(back, payment.VerdictDeclined))
	d.cancel(rival)
	c := d.onlyCase(p)
	require.NoError(t, d.decide(c, casework.Adopt))
	pending := answer(back, payment.VerdictPending)
	pending.Learned.Source, pending.Learned.Fence, pending.Learned.AskedAt = evidence.Inquiry, 0, d.row(p).Now
	d.apply(pending)
	d.carry(d.onlyCase(p))
	d.leftToAPerson(d.onlyCase(p))
	require.ErrorIs(t, d.decide(d.onlyCase(p), casework.Adopt), casework.ErrDoesNotFit)
}

func TestB3_AWordWithoutANameDoesNotSucceedWithWhatIsBeingGivenBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Refund))
	d.carryOut(refunds)
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
	d.apply(answer(d.compensation(), payment.VerdictCaptured))
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
	d.booked(0)
}

// A webhook says captured after the decline of the very movement, and nothing newer does.
func TestU8_U7_WhatTheProviderDeniesIsNotAdoptedByAPersonEither(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictDeclined, named("pi_1")))
	d.SetNow(t, time.Minute)
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("pi_1")))
	err := d.decide(d.onlyCase(p), casework.Adopt)
	require.ErrorIs(t, err, casework.ErrDoesNotFit)
	require.ErrorContains(t, err, "drift scan")
	d.apply(d.word(p, evidence.List, payment.VerdictCaptured, named("pi_1")))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
	require.Equal(t, casework.Adopted, d.carry(d.onlyCase(p)).Resolution)
}
