package outcome_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func (d *desk) mayRefund(p operation.NewPayment) bool {
	d.t.Helper()
	may, err := within(d, func(ctx context.Context, tx pgx.Tx) (bool, error) { return operation.MayRefund(ctx, tx, p.OperationID) })
	require.NoError(d.t, err)
	return may
}

// adoptedAfterARefund is a payment that adopted its late money, after a refund of that
// money had been given up. It returns the refund's attempt.
func (d *desk) adoptedAfterARefund() (operation.NewPayment, operation.Attempt) {
	d.t.Helper()
	p := d.declined()
	second := fixture.Accept(d.t, d.pool, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	d.carryOut(refunds)
	back := d.compensationOf(p)
	d.apply(answer(back, payment.VerdictDeclined))
	d.apply(answer(d.claimAgain(second), payment.VerdictDeclined))
	require.NoError(d.t, d.decide(d.onlyCase(p), casework.Adopt))
	require.Equal(d.t, casework.Adopted, d.carryOut(refunds)[0].Resolution)
	return p, back
}

// compensationOf claims the refund of a payment's case.
func (d *desk) compensationOf(p operation.NewPayment) operation.Attempt {
	d.t.Helper()
	require.NoError(d.t, d.pool.QueryRow(d.t.Context(), "SELECT id FROM operation WHERE payment_id = $1 AND case_id IS NOT NULL", p.PaymentID).
		Scan(&p.OperationID))
	return d.claimAgain(p)
}

func TestP1_AdoptedMoneyThatACompensationGaveBackAfterAllIsNotRefundedAgain(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]payment.Verdict{"captured": payment.VerdictCaptured, "pending": payment.VerdictPending} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, back := d.adoptedAfterARefund()
			require.True(t, d.mayRefund(p))
			d.SetNow(t, time.Minute)
			compensation := operation.NewPayment{PaymentID: p.PaymentID, OperationID: back.OperationID, Amount: p.Amount}
			said := d.word(compensation, evidence.Inquiry, verdict, named("re_1"))
			d.apply(said)
			require.False(t, d.mayRefund(p))
			_, err := within(d, func(ctx context.Context, tx pgx.Tx) (time.Time, error) {
				return operation.CreateRefund(ctx, tx, operation.NewRefund{
					OperationID: uuid.Must(uuid.NewV7()), PaymentID: p.PaymentID, MerchantID: p.MerchantID, Reference: "R-1",
					Amount: p.Amount, Context: p.Context,
				})
			})
			require.ErrorContains(t, err, "does not act on what", "the database says so, too")
			if verdict == payment.VerdictPending {
				return
			}
			d.apply(said) // and again
			doubts := d.doubts(p)
			require.Len(t, doubts, 1, "a person looks at the charge")
			require.Equal(t, operation.Person, doubts[0].WaitsFor)
			require.Equal(t, p.OperationID, doubts[0].OperationID)
			require.Equal(t, "ch_1", doubts[0].ProviderObjectID)
		})
	}
}

// doubts are the cases about what a payment was captured with.
func (d *desk) doubts(p operation.NewPayment) (found []casework.Case) {
	d.t.Helper()
	for _, c := range d.cases(p) {
		if c.Kind == casework.FailedAfterCaptured {
			found = append(found, c)
		}
	}
	return found
}

func TestI15_WhatTheProviderDeniesIsRefundedOnlyAfterAPersonsWord(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	require.True(t, d.mayRefund(p))
	for i := range 2 {
		d.SetNow(t, time.Duration(2*i+1)*time.Minute)
		d.apply(d.word(p, evidence.Inquiry, payment.VerdictDeclined, authoritative, named("ch_1")))
		require.False(t, d.mayRefund(p))
		doubts := d.doubts(p)
		require.Len(t, doubts, i+1, "a dismissed doubt does not swallow the next one")
		c, err := casework.Get(t.Context(), d.pool, doubts[i].ID)
		require.NoError(t, err)
		d.SetNow(t, time.Duration(2*i+2)*time.Minute)
		require.NoError(t, d.decide(c, casework.Dismiss))
		require.True(t, d.mayRefund(p), "a person has seen it")
	}
	d.SetNow(t, time.Hour)
	d.apply(d.word(p, evidence.Webhook, payment.VerdictDeclined, named("ch_1")))
	require.Len(t, d.doubts(p), 2)
	require.False(t, d.mayRefund(p), "nobody has judged it yet")
	d.SetNow(t, 2*time.Hour)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	require.True(t, d.mayRefund(p))
}

func TestP1_TwoRefundsDoNotSucceedWithOneMovement(t *testing.T) {
	t.Parallel()
	for name, movement := range map[string]string{"another refund's": "re_1", "the charge's own": "ch_1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := d.charged()
			first, second, failed := d.refund(p, "R-1", 300), d.refund(p, "R-2", 300), d.failedRefund(p, "R-3", 300)
			d.apply(answer(d.claimAgain(first), payment.VerdictCaptured, named("re_1")))
			d.apply(answer(d.claimAgain(second), payment.VerdictCaptured, named(movement)))
			row := d.row(second)
			require.Equal(t, payment.OperationUnknown, row.State)
			require.Equal(t, operation.Person, row.WaitsFor)
			require.Equal(t, outcome.ReasonAnothersMovement, *row.Reason)
			d.apply(d.word(failed, evidence.Inquiry, payment.VerdictCaptured, named(movement)))
			c := d.onlyCase(p)
			require.False(t, c.Suspended, "that money is booked already")
			require.Equal(t, operation.Person, c.WaitsFor)
			require.ErrorIs(t, d.decide(c, casework.Adopt), casework.ErrDoesNotFit)
			d.apply(d.word(second, evidence.Inquiry, payment.VerdictCaptured, named("re_2")))
			require.Equal(t, payment.OperationSucceeded, d.row(second).State)
			d.owed(p, 400)
		})
	}
}

func TestP1_TwoRefundsOfOneGroupDoNotSucceedWithOneMovement(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	first, second := d.refund(p, "R-1", 300), d.refund(p, "R-2", 300)
	a, b := d.claimAgain(first), d.claimAgain(second)
	d.apply(answer(a, payment.VerdictCaptured, named("re_1")), answer(b, payment.VerdictCaptured, named("re_1")))
	require.Equal(t, payment.OperationSucceeded, d.row(first).State)
	require.Equal(t, payment.OperationUnknown, d.row(second).State)
}

func TestI15_AChargeThatSucceededWithoutANameIsRefundableOnceTheProviderNamesIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured))
	require.False(t, d.mayRefund(p))
	told := len(d.told(p))
	d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured, named("line_1")))
	require.Nil(t, d.row(p).ProviderObjectID, "a file may know it by another name")
	d.SetNow(t, time.Minute)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("line_1")))
	require.Equal(t, "line_1", *d.row(p).ProviderObjectID)
	require.True(t, d.mayRefund(p))
	require.Len(t, d.told(p), told, "nothing to tell")
	require.Empty(t, d.cases(p))
	d.refund(p, "R-1", 400)
}
