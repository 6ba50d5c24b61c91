package outcome_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestB3_AnotherAmountStandsInSuspenseUntilAPersonSendsItBackAndSettlesTheCharge(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "USD"), named("ch_1")))
	c := d.onlyCase(p)
	require.Equal(t, casework.AmountMismatch, c.Kind)
	require.Equal(t, "9.99 USD", c.Amount.String())
	require.Equal(t, operation.Person, c.WaitsFor)
	require.Empty(t, d.carryOut(refunds), "the machine leaves it to the person")
	require.Equal(t, 1, d.count("SELECT count(*) FROM ledger_entry WHERE account = 'provider:card:suspense' AND amount_minor = -999 AND currency = 'USD'"))

	settled := d.word(p, evidence.Operator, payment.VerdictNotTaken, authoritative, settle)
	settled.Learned.AskedAt = settled.Learned.AskedAt.Add(time.Minute)
	settled.Learned.CoversUntil = settled.Learned.AskedAt
	d.apply(settled)
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)

	require.NoError(t, d.decide(c, casework.Refund))
	d.carryOut(refunds)
	back := d.compensation()
	require.Equal(t, "9.99 USD", back.Amount.String())
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch) // nothing succeeds with what is being given back
	d.apply(answer(back, payment.VerdictCaptured))
	require.Equal(t, casework.Refunded, d.onlyCase(p).Resolution)
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
	d.booked(0)
}

func TestB3_AChargeWhoseWrongMoneyWentBackFailsByAPersonsWord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(1001, "TRY"), named("ch_1")))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Refund))
	d.carryOut(refunds)
	back := d.compensation()
	d.SetNow(t, time.Minute)
	no := func() outcome.Outcome {
		return d.word(p, evidence.Operator, payment.VerdictNotTaken, authoritative, settle)
	}
	d.apply(no())
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch) // the provider still holds it
	// Both in one group: the charge's word is read after its money went back.
	d.apply(answer(back, payment.VerdictCaptured), no())
	d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)
	require.Zero(t, d.count("SELECT count(*) FROM invoice_identity"))
	d.booked(0)
}

func TestU7_TheProvidersCorrectedWordEndsTheCase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	d.stands(p, payment.OperationSucceeded, "")
	require.Equal(t, casework.Corrected, d.onlyCase(p).Resolution)
	d.booked(1000)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	require.Len(t, d.cases(p), 1, "it is one contradiction, and told before")
	d.booked(1000)
}

func TestU7_CapturedHereAndDeniedThereOpensACaseAndTouchesNothing(t *testing.T) {
	t.Parallel()
	for name, told := range map[string]func(*desk, operation.NewPayment) outcome.Outcome{
		"the door is closed": func(d *desk, p operation.NewPayment) outcome.Outcome {
			return d.word(p, evidence.Closure, payment.VerdictNotTaken)
		},
		"not found": func(d *desk, p operation.NewPayment) outcome.Outcome {
			return d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative)
		},
		"voided": func(d *desk, p operation.NewPayment) outcome.Outcome {
			return d.word(p, evidence.Inquiry, payment.VerdictDeclined, authoritative, named("ch_1"), because("voided"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, a := d.claimed()
			d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
			early := d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative)
			d.SetNow(t, time.Minute)
			d.apply(early, d.word(p, evidence.Webhook, payment.VerdictDeclined), d.word(p, evidence.Inquiry, payment.VerdictNotTaken))
			require.Empty(t, d.cases(p), "asked too early, or told by nobody who would know")

			before, events := d.row(p), d.told(p)
			require.True(t, d.apply(told(d, p)).Contradiction)
			d.apply(told(d, p))
			c := d.onlyCase(p)
			require.Equal(t, casework.FailedAfterCaptured, c.Kind)
			require.Equal(t, casework.PlanPerson, c.Plan)
			require.Equal(t, "ch_1", c.ProviderObjectID)
			after := d.row(p)
			after.Now = before.Now
			require.Equal(t, before, after)
			require.Equal(t, events, d.told(p))
			require.ErrorIs(t, d.decide(c, casework.Refund), casework.ErrDoesNotFit)
			require.ErrorIs(t, d.decide(c, casework.Adopt), casework.ErrDoesNotFit)
			require.NoError(t, d.decide(c, casework.Dismiss))
			require.ErrorIs(t, d.decide(d.onlyCase(p), casework.Dismiss), casework.ErrNotOpen)
			d.booked(1000)
		})
	}
}

func TestU7_ARefundOfACaseThatIsDeclinedLeavesItToAPersonAndThePaymentAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.declined()
	fixture.Accept(t, d.pool, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	d.carryOut(refunds)
	first := d.compensation()
	before := d.row(p)
	d.apply(answer(first, payment.VerdictDeclined, because("refused")))
	after := d.row(p)
	after.Now = before.Now
	require.Equal(t, before, after)
	require.Equal(t, 1, d.count("SELECT count(*) FROM invoice_identity"), "the second payment's")
	c := d.onlyCase(p)
	require.Equal(t, []any{casework.Open, casework.PlanPerson, operation.Person}, []any{c.State, c.Plan, c.WaitsFor})

	require.NoError(t, d.decide(c, casework.Refund))
	d.carryOut(refunds)
	d.apply(answer(d.compensation(), payment.VerdictCaptured))
	require.Equal(t, casework.Refunded, d.onlyCase(p).Resolution)
	d.booked(0)
}

func TestU7_ARefundThatWasGivenUpAndTookPlaceEndsTheCase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
	d.carryOut(refunds)
	back := d.compensation()
	d.apply(answer(back, payment.VerdictDeclined))
	c := d.onlyCase(p)
	late := answer(back, payment.VerdictCaptured)
	require.Equal(t, c.ID, d.apply(late).CaseID)
	require.Equal(t, casework.Refunded, d.onlyCase(p).Resolution)
	require.ErrorIs(t, d.decide(c, casework.Refund), casework.ErrNotOpen, "it is not refunded again")
	d.booked(1000)
}

func TestU7_AFileMayKnowTheSameMovementByAnotherName(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
	d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured, named("TXN-77")))
	c := d.onlyCase(p)
	require.Equal(t, casework.PlanPerson, c.Plan, "a rule would refund the only charge there is")
	stale := c
	stale.Version--
	require.ErrorIs(t, d.decide(stale, casework.Dismiss), casework.ErrMoved, "a decision is about what was seen")
	require.NoError(t, d.decide(c, casework.Dismiss))
	d.booked(1000)
	c = d.onlyCase(p)
	require.Equal(t, casework.Actor{Owner: operation.Person, Name: "ada"}, c.History[1].By)
	require.Equal(t, "seen there", c.History[1].Reason)
	_, err := casework.Decide(t.Context(), d.pool, c.ID, casework.Decision{Action: casework.Dismiss, Version: 1, Who: "ada"})
	require.Error(t, err, "without a reason nothing is decided")
	_, err = casework.Decide(t.Context(), d.pool, uuid.New(), casework.Decision{Action: casework.Dismiss, Version: 1, Who: "ada", Reason: "x"})
	require.ErrorIs(t, err, casework.ErrNoSuchCase)
}

// Whoever comes first holds the invoice, and the other one learns it: never two.
func TestI9_AnAdoptionAndANewPaymentRaceForTheInvoice(t *testing.T) {
	t.Parallel()
	t.Run("the new payment comes first", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p, due := d.aboutToBeAdopted()
		tx, err := d.pool.Begin(t.Context())
		require.NoError(t, err)
		second := d.secondPayment(p)
		taken, err := operation.HoldIdentities(t.Context(), tx, []operation.NewPayment{second})
		require.NoError(t, err)
		require.Empty(t, taken)
		carried := make(chan casework.Case, 1)
		go func() {
			c, err := within(d, func(ctx context.Context, tx pgx.Tx) (casework.Case, error) {
				return publisher.CarryOut(ctx, tx, due, refunds)
			})
			assert.NoError(t, err)
			carried <- c
		}()
		d.awaitLockWait()
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, casework.Working, (<-carried).State, "the money goes back")
		d.stands(p, payment.OperationFailed, "insufficient-funds")
		require.Equal(t, 1, d.count("SELECT count(*) FROM invoice_identity WHERE payment_id = $1", second.PaymentID))
	})
	t.Run("the adoption comes first", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p, due := d.aboutToBeAdopted()
		tx, err := d.pool.Begin(t.Context())
		require.NoError(t, err)
		c, err := publisher.CarryOut(t.Context(), tx, due, refunds)
		require.NoError(t, err)
		require.Equal(t, casework.Adopted, c.Resolution)
		second := d.secondPayment(p)
		taken := make(chan map[uuid.UUID]uuid.UUID, 1)
		go func() {
			held, err := within(d, func(ctx context.Context, tx pgx.Tx) (map[uuid.UUID]uuid.UUID, error) {
				return operation.HoldIdentities(ctx, tx, []operation.NewPayment{second})
			})
			assert.NoError(t, err)
			taken <- held
		}()
		d.awaitLockWait()
		require.NoError(t, tx.Commit(t.Context()))
		require.Equal(t, map[uuid.UUID]uuid.UUID{second.PaymentID: p.PaymentID}, <-taken, "it is told of the adopted payment")
		require.Equal(t, []event.Type{event.PaymentFailed, event.PaymentCaptured}, d.told(p))
		d.booked(1000)
	})
}

func (d *desk) aboutToBeAdopted() (operation.NewPayment, casework.Due) {
	d.t.Helper()
	p := d.declined()
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	due, err := casework.TakeDue(d.t.Context(), d.pool, []string{fixture.Account}, 10, lease)
	require.NoError(d.t, err)
	require.Len(d.t, due, 1)
	return p, due[0]
}

func (d *desk) secondPayment(p operation.NewPayment) operation.NewPayment {
	p.PaymentID = uuid.Must(uuid.NewV7())
	return p
}

// awaitLockWait returns once a session of this database waits for a lock.
func (d *desk) awaitLockWait() {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		return d.count(`SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
			WHERE NOT l.granted AND a.datname = current_database()`) > 0
	}, 30*time.Second, time.Millisecond)
}

// Its attempt says late that nothing was taken, and nothing is held any more; but it
// was captured once, and a second try is a second chance of being wrong.
func TestB3_WhatWasGivenBackIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	require.NoError(t, d.decide(d.onlyCase(p), casework.Refund))
	d.carryOut(refunds)
	d.apply(answer(d.compensation(), payment.VerdictCaptured))
	d.apply(answer(a, payment.VerdictNotTaken))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
	d.booked(0)
}
