package outcome_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// refund is a merchant's refund of part of a payment.
func (d *desk) refund(p operation.NewPayment, reference string, minor int64) operation.NewPayment {
	d.t.Helper()
	return fixture.Refund(d.t, d.pool, p, reference, minor)
}

// failedRefund is one that the provider declined.
func (d *desk) failedRefund(p operation.NewPayment, reference string, minor int64) operation.NewPayment {
	d.t.Helper()
	r := d.refund(p, reference, minor)
	d.apply(answer(d.claimAgain(r), payment.VerdictDeclined, because("not_refundable")))
	d.SetNow(d.t, time.Minute)
	return r
}

func (d *desk) refunded(p operation.NewPayment, minor int64) {
	d.t.Helper()
	require.Equal(d.t, minor, d.row(p).Payment.Refunded.Minor())
}

// owed requires what a merchant is owed.
func (d *desk) owed(p operation.NewPayment, minor int64) {
	d.t.Helper()
	balances, err := ledger.Balances(d.t.Context(), d.pool)
	require.NoError(d.t, err)
	for _, b := range balances {
		if b.Account == ledger.PayableAccount(p.MerchantID) {
			require.Equal(d.t, -minor, b.Minor)
			return
		}
	}
	require.Zero(d.t, minor)
}

func TestI15_ARefundThatSucceedsIsBookedToldAndAnswered(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 400)
	d.refunded(p, 400)
	a := d.claimAgain(r)
	require.Equal(t, payment.KindRefund, a.Kind)
	require.Equal(t, "ch_1", *a.ProviderObjectID, "it acts on what was captured")
	d.apply(answer(a, payment.VerdictCaptured, named("re_1")))

	row := d.row(r)
	require.Equal(t, payment.OperationSucceeded, row.State)
	require.Equal(t, payment.StateCaptured, row.Payment.State)
	d.refunded(p, 400)
	d.owed(p, 600)
	d.booked(600)
	require.Equal(t, []event.Type{event.PaymentCaptured, event.RefundCompleted}, d.told(p))
	var payload, body []byte
	require.NoError(t, d.pool.QueryRow(t.Context(), "SELECT payload FROM payment_history WHERE event_type = $1", event.RefundCompleted).Scan(&payload))
	var told event.Refunded
	require.NoError(t, json.Unmarshal(payload, &told))
	require.Equal(t, "4.00", told.RefundedTotal)
	require.Equal(t, r.OperationID, told.RefundID)
	require.Equal(t, "R-1", told.RefundReference)
	require.NoError(t, d.pool.QueryRow(t.Context(), "SELECT body FROM idempotency_key WHERE resource_id = $1 AND status = 201", r.OperationID).Scan(&body))
	view, found, err := operation.Refund(t.Context(), d.pool, p.MerchantID, r.OperationID)
	require.NoError(t, err)
	require.True(t, found)
	shown, err := view.Encode()
	require.NoError(t, err)
	require.Equal(t, string(shown), string(body), "P6: the stored answer is the refund as it stands")
}

func TestI15_ARefundThatFailsGivesItsMoneyBackToTheLimit(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	d.failedRefund(p, "R-1", 1000)
	d.refunded(p, 0)
	d.owed(p, 1000)
	require.Equal(t, []event.Type{event.PaymentCaptured, event.RefundFailed}, d.told(p))
	d.refund(p, "R-2", 1000)
	d.refunded(p, 1000)
}

func TestP3_ARefundThatMayHaveBeenSentIsUnknownAndCounts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 600)
	a := d.claimAgain(r)
	d.apply(answer(a, payment.VerdictUnclear, because("no-answer")))
	require.Equal(t, payment.OperationUnknown, d.row(r).State)
	d.refunded(p, 600)
	require.Equal(t, []event.Type{event.PaymentCaptured}, d.told(p))
	d.SetNow(t, time.Hour)
	d.apply(d.word(r, evidence.Inquiry, payment.VerdictNotTaken, authoritative, settle))
	require.Equal(t, payment.OperationFailed, d.row(r).State)
	d.refunded(p, 0)
}

func TestI15_SeveralRefundsOfOnePaymentInOneGroupAreCountedTogether(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	first, second, third := d.refund(p, "R-1", 300), d.refund(p, "R-2", 300), d.refund(p, "R-3", 400)
	a, b, c := d.claimAgain(first), d.claimAgain(second), d.claimAgain(third)
	d.apply(answer(a, payment.VerdictCaptured, named("re_1")), answer(b, payment.VerdictDeclined), answer(c, payment.VerdictDeclined))
	d.refunded(p, 300)
	d.owed(p, 700)
	var totals []string
	rows, err := d.pool.Query(t.Context(), `SELECT convert_from(payload, 'UTF8')::jsonb ->> 'refundedTotal' FROM payment_history
		WHERE event_type LIKE 'payonce.Refund%' AND event_topic = 'payonce.events' ORDER BY seq`)
	require.NoError(t, err)
	for rows.Next() {
		var total string
		require.NoError(t, rows.Scan(&total))
		totals = append(totals, total)
	}
	require.Equal(t, []string{"10.00", "7.00", "3.00"}, totals)
}

func TestU7_AFailedRefundThatTookPlaceSucceedsWithinTheLimitUnderACase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.failedRefund(p, "R-1", 400)
	applied := d.apply(d.word(r, evidence.Inquiry, payment.VerdictCaptured, named("re_1")))
	require.Equal(t, payment.OperationFailed, applied.To, "nothing is overwritten silently")
	c := d.onlyCase(p)
	require.Equal(t, casework.PlanAdopt, c.Plan)
	require.Equal(t, r.OperationID, c.OperationID)
	require.Equal(t, 1, d.count("SELECT count(*) FROM ledger_entry WHERE purpose = 'suspense' AND account LIKE '%suspense' AND amount_minor = 400"))
	d.owed(p, 1000)

	after := d.carryOut(refunds)
	require.Equal(t, casework.Adopted, after[0].Resolution)
	require.Equal(t, payment.OperationSucceeded, d.row(r).State)
	require.Equal(t, "re_1", *d.row(r).ProviderObjectID)
	d.refunded(p, 400)
	d.owed(p, 600)
	d.booked(600)
	require.Equal(t, []event.Type{event.PaymentCaptured, event.RefundFailed, event.RefundCompleted}, d.told(p))
	require.Equal(t, 2, d.count("SELECT count(*) FROM operation"), "nothing was sent again")
}

func TestU7_AFailedRefundBeyondTheLimitWaitsForAPersonInSuspense(t *testing.T) {
	t.Parallel()
	t.Run("when the word comes", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.charged()
		r := d.failedRefund(p, "R-1", 400)
		d.refund(p, "R-2", 700)
		d.apply(d.word(r, evidence.Inquiry, payment.VerdictCaptured, named("re_1")))
		c := d.onlyCase(p)
		require.Equal(t, casework.PlanPerson, c.Plan)
		require.ErrorIs(t, d.decide(c, casework.Adopt), casework.ErrDoesNotFit)
		require.ErrorIs(t, d.decide(c, casework.Refund), casework.ErrDoesNotFit, "what was refunded is not given back")
		d.refunded(p, 700)
		require.NoError(t, d.decide(c, casework.Dismiss))
		d.booked(1000)
	})
	t.Run("when it is carried out", func(t *testing.T) {
		t.Parallel()
		d := newDesk(t)
		p := d.charged()
		r := d.failedRefund(p, "R-1", 400)
		d.apply(d.word(r, evidence.Inquiry, payment.VerdictCaptured, named("re_1")))
		other := d.refund(p, "R-2", 700)
		after := d.carryOut(refunds)
		require.Equal(t, casework.PlanPerson, after[0].Plan)
		require.Equal(t, payment.OperationFailed, d.row(r).State)

		d.apply(answer(d.claimAgain(other), payment.VerdictDeclined)) // and now there is room
		require.NoError(t, d.decide(d.onlyCase(p), casework.Adopt))
		d.carryOut(refunds)
		d.refunded(p, 400)
		d.owed(p, 600)
		d.booked(600)
	})
}

func TestB3_ARefundOverAnotherAmountSettlesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 400)
	d.apply(answer(d.claimAgain(r), payment.VerdictCaptured, named("re_1"), of(399, "TRY")))
	row := d.row(r)
	require.Equal(t, payment.OperationUnknown, row.State)
	require.Equal(t, operation.Person, row.WaitsFor)
	c := d.onlyCase(p)
	require.Equal(t, casework.AmountMismatch, c.Kind)
	require.Equal(t, casework.PlanPerson, c.Plan)
	d.refunded(p, 400)
	d.owed(p, 1000)
	require.NoError(t, d.decide(c, casework.Dismiss))
	d.booked(1000)
}

func TestU7_ARefundThatTookPlaceTwiceIsForAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 400)
	d.apply(answer(d.claimAgain(r), payment.VerdictCaptured, named("re_1")))
	d.apply(d.word(r, evidence.Webhook, payment.VerdictCaptured, named("re_1")))
	require.Empty(t, d.cases(p))
	d.apply(d.word(r, evidence.Inquiry, payment.VerdictCaptured, named("re_2")))
	c := d.onlyCase(p)
	require.Equal(t, casework.CapturedTwice, c.Kind)
	require.Equal(t, casework.PlanPerson, c.Plan)
	require.Empty(t, d.carryOut(refunds))
	d.owed(p, 600)
}

func TestU7_ARefundThatTheProviderDeniesLaterIsForAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 400)
	d.apply(answer(d.claimAgain(r), payment.VerdictCaptured, named("re_1")))
	d.SetNow(t, time.Hour)
	d.apply(d.word(r, evidence.Inquiry, payment.VerdictDeclined, authoritative, named("re_1")))
	require.Equal(t, casework.FailedAfterCaptured, d.onlyCase(p).Kind)
	require.Equal(t, payment.OperationSucceeded, d.row(r).State)
	d.refunded(p, 400)
	d.owed(p, 600)
}

func TestI15_ARefundThatCannotBePutOnTheWireFails(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	r := d.refund(p, "R-1", 400)
	d.apply(answer(d.claimAgain(r), payment.VerdictUnclear, notSent, because(provider.ReasonUnsupported)))
	require.Equal(t, payment.OperationFailed, d.row(r).State)
	d.refunded(p, 0)
}

// A second charge of the payment that a case gives back is none of the payment's
// refunds: both go their way, each from its own movement.
func TestU7_ACompensationAndARefundOfOnePaymentDoNotMeet(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")), d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_2")))
	r := d.refund(p, "R-1", 1000)
	d.carryOut(refunds)
	back := d.compensation()
	require.Equal(t, "ch_2", *back.ProviderObjectID)
	d.refunded(p, 1000)
	d.apply(answer(back, payment.VerdictCaptured, named("re_2")), answer(d.claimAgain(r), payment.VerdictCaptured, named("re_1")))
	d.refunded(p, 1000)
	d.owed(p, 0)
	d.booked(0)
	require.Equal(t, []event.Type{event.PaymentCaptured, event.RefundCompleted}, d.told(p))
}
