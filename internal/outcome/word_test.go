package outcome_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// unknown is an operation whose only attempt brought no result, a while ago.
func (d *desk) unknown(options ...fixture.Option) (operation.NewPayment, operation.Attempt) {
	d.t.Helper()
	p, a := d.claimed(options...)
	d.apply(answer(a, payment.VerdictUnclear, because("no-answer")))
	d.SetNow(d.t, time.Minute)
	return p, a
}

func TestB3_AnotherAmountThanOursIsForAPerson(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]change{"amount": of(999, "TRY"), "currency": of(1000, "USD"), "none": func(o *outcome.Outcome) {
		o.Learned.Amount = outcome.Outcome{}.Learned.Amount
	}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, a := d.claimed()
			d.apply(answer(a, payment.VerdictCaptured, other))
			d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
			require.Equal(t, operation.Person, d.row(p).WaitsFor)
			require.Zero(t, d.count("SELECT count(*) FROM ledger_entry WHERE purpose = 'movement'"))
			require.Equal(t, 1, d.count("SELECT count(*) FROM payment_case WHERE kind = 'amount_mismatch' AND plan = 'person'"))

			before := d.row(p).Standing
			d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, other))
			d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative, settle))
			require.Equal(t, before, d.row(p).Standing, "money moved: nothing but the right amount settles it")
			d.apply(d.word(p, evidence.Settlement, payment.VerdictCaptured))
			d.stands(p, payment.OperationSucceeded, "")
		})
	}
}

func TestB3_AnotherAmountIsForAPersonAlsoWhenItComesLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictNotTaken))
	stand := operation.Stand{OperationID: p.OperationID, Fence: 1}
	handed, err := operation.HandToPerson(t.Context(), d.pool, stand, outcome.ReasonDoorOpen)
	require.NoError(t, err)
	require.True(t, handed)
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, of(1, "TRY")))
	d.stands(p, payment.OperationUnknown, outcome.ReasonAmountMismatch)
}

func TestPendingBecomesWhatTheProviderSaysLater(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	captured, first := d.claimed()
	declined, second := d.claimed()
	d.apply(answer(first, payment.VerdictPending), answer(second, payment.VerdictPending))
	d.SetNow(t, time.Minute)
	d.apply(d.word(captured, evidence.Inquiry, payment.VerdictPending))
	d.stands(captured, payment.OperationPending, "")

	d.apply(d.word(captured, evidence.Inquiry, payment.VerdictCaptured))
	d.stands(captured, payment.OperationSucceeded, "")
	require.Equal(t, []event.Type{event.PaymentPending, event.PaymentCaptured}, d.told(captured))

	d.apply(d.word(declined, evidence.Inquiry, payment.VerdictDeclined))
	d.stands(declined, payment.OperationPending, "")
	d.apply(d.word(declined, evidence.Inquiry, payment.VerdictDeclined, authoritative, because("expired-card")))
	d.stands(declined, payment.OperationFailed, "expired-card")
}

func TestU4_NotFoundSettlesOnlyWhatItCoversAndWhenNothingBetterIsLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.unknown()
	lastSend := a.ClaimedAt.Add(lease + allowance)
	until := func(at time.Time) change { return func(o *outcome.Outcome) { o.Learned.CoversUntil = at } }
	for _, o := range []outcome.Outcome{
		d.word(p, evidence.Inquiry, payment.VerdictNotTaken, settle),
		d.word(p, evidence.Inquiry, payment.VerdictNotTaken, settle, until(lastSend.Add(-time.Microsecond))),
		d.word(p, evidence.Webhook, payment.VerdictDeclined, settle),
		d.word(p, evidence.Inquiry, payment.VerdictNotTaken, until(lastSend)),
	} {
		d.apply(o)
		d.stands(p, payment.OperationUnknown, "no-answer")
	}
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken, until(lastSend), settle))
	d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)
	require.Equal(t, []event.Type{event.PaymentUnknown, event.PaymentFailed}, d.told(p))
}

func TestNotTakenPastTheLastMomentIsExpired(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, _ := d.unknown(fixture.ChargeBefore(time.Now().Add(30 * time.Second)))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative, settle))
	d.stands(p, payment.OperationFailed, outcome.ReasonExpired)
}

func TestI9_AClosedDoorFreesTheInvoiceForASecondPayment(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.unknown()
	require.Equal(t, 1, d.count("SELECT count(*) FROM invoice_identity"), "U6: an unknown payment blocks its invoice")
	d.apply(d.word(p, evidence.Closure, payment.VerdictNotTaken, authoritative, settle))
	d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)

	second := fixture.Accept(t, d.pool, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	d.apply(answer(d.claimAgain(second), payment.VerdictCaptured))
	d.stands(second, payment.OperationSucceeded, "")

	// The door did not hold: the first payment was captured after all.
	applied := d.apply(answer(first, payment.VerdictCaptured))
	require.True(t, applied.Contradiction)
	d.stands(p, payment.OperationFailed, outcome.ReasonNotTaken)
	require.Equal(t, 1, d.count("SELECT count(*) FROM invoice_identity"))
}

func TestU7_CapturedAfterFailedOpensACaseAndChangesNothingAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictDeclined))
	before, events := d.row(p), d.told(p)
	applied := d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured))
	require.Equal(t, outcome.Applied{
		OperationID: p.OperationID, From: payment.OperationFailed, To: payment.OperationFailed, Fence: 1, WaitsFor: operation.Machine, Contradiction: true,
		CaseID: applied.CaseID,
	}, applied)
	require.NotZero(t, applied.CaseID)
	after := d.row(p)
	after.Now = before.Now
	require.Equal(t, before, after)
	require.Equal(t, events, d.told(p))
	require.Zero(t, d.count("SELECT count(*) FROM ledger_entry WHERE purpose = 'movement'"))
	require.Equal(t, 2, d.evidence(p), "what was told is kept")
}

func TestCreatedLearnsLate(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictNotTaken))
	object := func(o *outcome.Outcome) { o.Learned.ProviderObjectID = "ch_1" }
	applied := d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, object))
	require.Equal(t, payment.OperationCreated, applied.From)
	require.EqualValues(t, 2, applied.Fence)
	d.stands(p, payment.OperationSucceeded, "")
	require.Equal(t, new("ch_1"), d.row(p).ProviderObjectID)
	require.Equal(t, []event.Type{event.PaymentUnknown, event.PaymentCaptured}, d.told(p), "by way of unknown, in one commit")
	require.Equal(t, 1, d.postings(p))
}

// A webhook that names another object under our reference made that one the only one
// that was ever asked about again, while ours had captured.
func TestU8_AStoredObjectIsNotReplacedByOneThatAWebhookNames(t *testing.T) {
	t.Parallel()
	named := func(id string) change { return func(o *outcome.Outcome) { o.Learned.ProviderObjectID = id } }
	for _, verdict := range []payment.Verdict{payment.VerdictPending, payment.VerdictUnclear} {
		d := newDesk(t)
		p, a := d.claimed()
		kept, err := operation.KeepObject(t.Context(), d.pool, a, "pi_1")
		require.NoError(t, err)
		require.True(t, kept)
		d.apply(d.word(p, evidence.Webhook, verdict, named("pi_2")))
		require.Equal(t, new("pi_1"), d.row(p).ProviderObjectID)
		d.apply(answer(a, payment.VerdictUnclear, named("pi_2")))
		require.Equal(t, new("pi_1"), d.row(p).ProviderObjectID)
		d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("pi_2")))
		require.Equal(t, new("pi_2"), d.row(p).ProviderObjectID, "the movement that took place")
	}
}

func TestPendingMakesAWaitingOperationUnknownUntilALaterNo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictNotTaken))
	old := d.word(p, evidence.Inquiry, payment.VerdictPending)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken))
	d.apply(old)
	d.stands(p, payment.OperationCreated, outcome.ReasonRetrying)

	d.apply(d.word(p, evidence.Inquiry, payment.VerdictPending))
	d.stands(p, payment.OperationUnknown, "")
	require.Nil(t, d.row(p).NextAttemptAt, "it may not be sent again")
}

func TestExpiryNeedsTheDoorClosedBehindWhatWasSent(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	soon := fixture.ChargeBefore(time.Now().Add(30 * time.Second))
	never := fixture.Accept(t, d.pool, soon)
	unsent, first := d.claimed(soon)
	open, second := d.claimed(soon)
	d.apply(answer(first, payment.VerdictUnclear, notSent), answer(second, payment.VerdictNotTaken))
	expired, doorOpen := d.expire()
	require.Empty(t, expired, "there is time")
	require.Empty(t, doorOpen)

	d.SetNow(t, time.Minute)
	expired, doorOpen = d.expire()
	require.Len(t, expired, 2)
	d.stands(never, payment.OperationFailed, outcome.ReasonExpired)
	d.stands(unsent, payment.OperationFailed, outcome.ReasonExpired)
	require.Len(t, doorOpen, 1)
	require.Equal(t, open.OperationID, doorOpen[0].ID)
	d.stands(open, payment.OperationCreated, outcome.ReasonRetrying)

	d.apply(d.word(open, evidence.Inquiry, payment.VerdictNotTaken, authoritative))
	_, doorOpen = d.expire()
	require.Len(t, doorOpen, 1, "to find nothing closes no door")
	d.apply(d.word(open, evidence.Closure, payment.VerdictNotTaken, authoritative))
	expired, doorOpen = d.expire()
	require.Len(t, expired, 1)
	require.Empty(t, doorOpen)
	d.stands(open, payment.OperationFailed, outcome.ReasonExpired)
	require.Zero(t, d.count("SELECT count(*) FROM invoice_identity"))
	require.Equal(t, []event.Type{event.PaymentFailed}, d.told(open))
}

func TestU3_ATakeoverMakesTheOldOwnerStaleAndConcludesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.claimed()
	require.Empty(t, d.takeOver(), "the lease holds")
	d.SetNow(t, lease+time.Second)
	taken := outcome.Applied{OperationID: p.OperationID, From: payment.OperationProcessing, To: payment.OperationUnknown, Fence: 2}
	require.Equal(t, []outcome.Applied{taken}, d.takeOver())
	require.Empty(t, d.takeOver())
	row := d.row(p)
	require.False(t, row.NextCheckAt.After(row.Now), "it is looked at at once")
	require.Zero(t, d.evidence(p))
	d.apply(answer(first, payment.VerdictUnclear))
	require.EqualValues(t, 2, d.row(p).Fence)
	d.stands(p, payment.OperationUnknown, outcome.ReasonLeaseRanOut)

	d.resent(p)
	d.SetNow(t, time.Minute)
	taken.From, taken.Fence = payment.OperationUnknown, 4
	require.Equal(t, []outcome.Applied{taken}, d.takeOver())
	require.Equal(t, []event.Type{event.PaymentUnknown}, d.told(p), "a resend that vanished is told to nobody")
}
