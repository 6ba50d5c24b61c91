package outcome_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// caseOf is the case of a payment about a movement.
func (d *desk) caseOf(p operation.NewPayment, movement string) casework.Detail {
	d.t.Helper()
	for _, c := range d.cases(p) {
		if c.ProviderObjectID == movement && c.Kind != casework.FailedAfterCaptured {
			detail, err := casework.Get(d.t.Context(), d.pool, c.ID)
			require.NoError(d.t, err)
			return detail
		}
	}
	require.Fail(d.t, "no case", "about %q", movement)
	return casework.Detail{}
}

// carry lets one case take its next step.
func (d *desk) carry(c casework.Detail) casework.Case {
	d.t.Helper()
	due := casework.Due{CaseID: c.ID, PaymentID: c.PaymentID, OperationID: c.OperationID, Plan: c.Plan, Version: c.Version}
	after, err := within(d, func(ctx context.Context, tx pgx.Tx) (casework.Case, error) {
		return publisher.CarryOut(ctx, tx, due, refunds)
	})
	require.NoError(d.t, err)
	return after
}

// leftToAPerson requires that no rule moves the case's money.
func (d *desk) leftToAPerson(c casework.Detail) {
	d.t.Helper()
	require.Equal(d.t, []any{casework.Open, casework.PlanPerson, operation.Person}, []any{c.State, c.Plan, c.WaitsFor})
	require.Zero(d.t, d.count("SELECT count(*) FROM operation WHERE case_id = $1 AND state NOT IN ('failed', 'canceled')", c.ID))
}

// dueNow claims what is due.
func (d *desk) dueNow(c operation.Claim) []operation.Attempt {
	d.t.Helper()
	attempts, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) { return c.ClaimDue(ctx, tx, 10) })
	require.NoError(d.t, err)
	return attempts
}

// charged is a payment captured as ch_1, a while ago.
func (d *desk) charged() operation.NewPayment {
	d.t.Helper()
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
	d.SetNow(d.t, time.Minute)
	return p
}

// voided is the provider's word that a movement is void.
func (d *desk) voided(p operation.NewPayment, movement string) outcome.Outcome {
	return d.word(p, evidence.Inquiry, payment.VerdictDeclined, authoritative, named(movement), because(provider.ReasonVoided))
}

func TestU8_ChargesThatTheProviderVoidedAreNotAdopted(t *testing.T) {
	t.Parallel()
	t.Run("a frozen worker tells what it had read before the door was closed", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p, a := d.unknown()
		d.apply(d.word(p, evidence.Closure, payment.VerdictNotTaken, authoritative, settle, named("ch_1")))
		d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
		d.leftToAPerson(d.onlyCase(p))
		require.Empty(t, d.carryOut(refunds))
		d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)
	})
	t.Run("an older webhook comes late", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p, _ := d.unknown()
		d.apply(d.voided(p, "ch_1"))
		d.SetNow(t, 2*time.Minute)
		d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_1"))) // asked for by nobody: its own time is not known
		d.leftToAPerson(d.onlyCase(p))
	})
	t.Run("it is voided before it is adopted, and stands after all", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.declined()
		d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
		require.Equal(t, casework.PlanAdopt, d.onlyCase(p).Plan)
		d.SetNow(t, time.Minute)
		d.apply(d.voided(p, "ch_1"))
		d.carry(d.onlyCase(p))
		d.leftToAPerson(d.onlyCase(p))
		require.ErrorIs(t, d.decide(d.onlyCase(p), casework.Adopt), casework.ErrDoesNotFit)

		d.SetNow(t, 2*time.Minute)
		d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
		require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
		require.Equal(t, casework.Adopted, d.carry(d.onlyCase(p)).Resolution)
		d.booked(1000)
	})
}

func TestU7_ASecondChargeStaysWhileTheFirstIsInDoubt(t *testing.T) {
	t.Parallel()
	t.Run("the first was voided", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.charged()
		d.apply(d.voided(p, "ch_1"))
		d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
		d.leftToAPerson(d.caseOf(p, "ch_2"))
	})
	t.Run("the door was closed before the second one's refund is ordered", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.charged()
		d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
		require.Equal(t, casework.PlanRefund, d.caseOf(p, "ch_2").Plan)
		d.apply(d.word(p, evidence.Closure, payment.VerdictNotTaken))
		d.carry(d.caseOf(p, "ch_2"))
		d.leftToAPerson(d.caseOf(p, "ch_2"))
		require.NoError(t, d.decide(d.caseOf(p, "ch_2"), casework.Refund))
		require.Equal(t, casework.Working, d.carry(d.caseOf(p, "ch_2")).State, "a person may")
	})
	t.Run("a list names the void beside the charge that stands", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.charged()
		list := d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_2"))
		list.Others = []provider.Movement{{ObjectID: "ch_1", Amount: p.Amount, Verdict: payment.VerdictDeclined}}
		d.apply(list)
		d.leftToAPerson(d.caseOf(p, "ch_2"))
	})
}

func TestU7_TheOnlyChargeIsNotRefundedUnderItsOtherName(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*desk) operation.NewPayment{
		"failed": func(d *desk) operation.NewPayment { return d.declined() },
		"canceled": func(d *desk) operation.NewPayment {
			p := fixture.Accept(d.t, d.pool)
			d.cancel(p)
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := begin(d)
			d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured, named("TXN-77")))
			require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
			d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
			require.Equal(t, casework.Adopted, d.carry(d.caseOf(p, "TXN-77")).Resolution)
			d.carry(d.caseOf(p, "ch_1"))
			d.leftToAPerson(d.caseOf(p, "ch_1"))
			require.NotEqual(t, "invoice-taken", d.caseOf(p, "ch_1").History[1].Reason)
		})
	}
}

// twiceRefunded is a double charge whose refund was given up, and ordered again by a person.
func (d *desk) twiceRefunded() (p operation.NewPayment, first operation.Attempt) {
	d.t.Helper()
	p = d.charged()
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
	d.carryOut(refunds)
	first = d.compensation()
	d.apply(answer(first, payment.VerdictDeclined))
	require.NoError(d.t, d.decide(d.onlyCase(p), casework.Refund))
	d.carryOut(refunds)
	return p, first
}

func TestU7_ARefundThatTookPlaceAfterAllWithdrawsTheNextOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.twiceRefunded()
	require.True(t, d.apply(answer(first, payment.VerdictCaptured)).Contradiction)
	require.Equal(t, casework.Refunded, d.onlyCase(p).Resolution)
	require.Equal(t, 1, d.count("SELECT count(*) FROM operation WHERE kind = 'refund' AND state = 'canceled' AND fence = 1"))
	require.Empty(t, d.dueNow(claim))
	d.booked(1000)
}

func TestU7_ASecondRefundIsNotSentWhileTheFirstMayHaveTakenPlace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.twiceRefunded()
	second := d.compensation()
	d.apply(answer(second, payment.VerdictNotTaken)) // a late copy of it could still be taken: it is not withdrawn
	d.apply(answer(first, payment.VerdictCaptured))
	require.Equal(t, casework.Working, d.onlyCase(p).State)
	d.SetNow(t, time.Hour)
	require.Empty(t, d.dueNow(claim))
}

func TestU7_WhatIsNamedLaterIsNotLostInAClosedCaseWithoutAName(t *testing.T) {
	t.Parallel()
	both := func(d *desk, p operation.NewPayment) outcome.Outcome {
		o := d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1"), because(provider.ReasonSeveralCharges))
		o.Others = []provider.Movement{{ObjectID: "ch_2", Amount: p.Amount, Verdict: payment.VerdictCaptured}}
		return o
	}
	t.Run("dismissed", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.declined()
		d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured))
		require.NoError(t, d.decide(d.onlyCase(p), casework.Dismiss))
		d.apply(both(d, p))
		require.Len(t, d.cases(p), 3)
		for _, movement := range []string{"ch_1", "ch_2"} {
			d.leftToAPerson(d.caseOf(p, movement)) // who may have sent it back by hand
		}
		require.NoError(t, d.decide(d.caseOf(p, "ch_1"), casework.Adopt))
		require.NoError(t, d.decide(d.caseOf(p, "ch_2"), casework.Refund))
		require.Equal(t, casework.Adopted, d.carry(d.caseOf(p, "ch_1")).Resolution)
		require.Equal(t, casework.Working, d.carry(d.caseOf(p, "ch_2")).State)
		d.apply(answer(d.compensation(), payment.VerdictCaptured))
		d.booked(1000)
	})
	t.Run("adopted", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.declined()
		d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured))
		require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
		d.carry(d.onlyCase(p))
		d.apply(both(d, p))
		require.Len(t, d.cases(p), 2, "the first name is the adopted charge's own")
		require.Equal(t, casework.Working, d.carry(d.caseOf(p, "ch_2")).State)
		d.apply(answer(d.compensation(), payment.VerdictCaptured))
		d.booked(1000)
	})
	t.Run("two amounts without a name", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.declined()
		d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured), d.word(p, evidence.Settlement, payment.VerdictCaptured, of(999, "TRY")))
		require.Len(t, d.cases(p), 2)
		require.Equal(t, -1999, d.count("SELECT sum(amount_minor) FROM ledger_entry WHERE account = 'provider:card:suspense'"))
	})
}
