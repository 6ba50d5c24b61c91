package outcome_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestAnAnswerSettlesItsOnlyAttempt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told   func(operation.Attempt) outcome.Outcome
		state  payment.OperationState
		reason string
		events []event.Type
	}{
		"captured": {
			func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictCaptured) },
			payment.OperationSucceeded, "", []event.Type{event.PaymentCaptured},
		},
		"declined": {
			func(a operation.Attempt) outcome.Outcome {
				return answer(a, payment.VerdictDeclined, because("insufficient-funds"))
			},
			payment.OperationFailed, "insufficient-funds", []event.Type{event.PaymentFailed},
		},
		"declined without a reason": {
			func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictDeclined) },
			payment.OperationFailed, outcome.ReasonDeclined, []event.Type{event.PaymentFailed},
		},
		"pending": {
			func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictPending, because("3ds")) },
			payment.OperationPending, "3ds", []event.Type{event.PaymentPending},
		},
		"unclear": {
			func(a operation.Attempt) outcome.Outcome {
				return answer(a, payment.VerdictUnclear, because("no-answer"))
			},
			payment.OperationUnknown, "no-answer", []event.Type{event.PaymentUnknown},
		},
		"not taken": {
			func(a operation.Attempt) outcome.Outcome {
				return answer(a, payment.VerdictNotTaken, because("try-later"))
			},
			payment.OperationCreated, "try-later", nil,
		},
		"not sent": {
			func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictUnclear, notSent) },
			payment.OperationCreated, outcome.ReasonRetrying, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, a := d.claimed()
			applied := d.apply(c.told(a))
			require.Equal(t, outcome.Applied{
				OperationID: p.OperationID, From: payment.OperationProcessing, To: c.state, Fence: 1, WaitsFor: operation.Machine,
			}, applied)
			d.stands(p, c.state, c.reason)
			require.Nil(t, d.row(p).LeaseUntil)
			require.Equal(t, c.events, append([]event.Type(nil), d.told(p)...))
			require.Equal(t, 1, d.count("SELECT count(*) FROM attempt WHERE finished_at IS NOT NULL"))
		})
	}
}

func TestW4_TryLaterWaitsAsLongAsTheProviderAsks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictNotTaken, func(o *outcome.Outcome) { o.RetryAfter = 40 * time.Second }))
	row := d.row(p)
	require.WithinDuration(t, a.ClaimedAt.Add(40*time.Second), *row.NextAttemptAt, 10*time.Second)
	require.False(t, row.NextAttemptAt.Before(a.ClaimedAt.Add(40*time.Second)))
	require.EqualValues(t, 2, d.claimAgain(p).Fence)
}

func TestW4_NotSentIsProvenByTheAttemptItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictUnclear, notSent))
	require.Zero(t, d.evidence(p), "there was nothing to answer")
	require.Equal(t, 1, d.count("SELECT count(*) FROM attempt WHERE not_sent"))
	next := d.row(p).NextAttemptAt.Sub(a.ClaimedAt)
	require.GreaterOrEqual(t, next, outcome.RetryDelayMin)
	d.stands(p, payment.OperationCreated, outcome.ReasonRetrying)

	d.apply(answer(a, payment.VerdictUnclear, notSent)) // told again because its commit was not answered
	d.stands(p, payment.OperationCreated, outcome.ReasonRetrying)
	again := d.claimAgain(p)
	d.apply(answer(a, payment.VerdictUnclear, notSent))
	d.stands(p, payment.OperationProcessing, "")
	d.apply(answer(again, payment.VerdictCaptured))
	d.stands(p, payment.OperationSucceeded, "")
}

func TestW4_AFirstReportIsNotTakenBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictUnclear))
	d.apply(answer(a, payment.VerdictUnclear, notSent))
	d.stands(p, payment.OperationUnknown, "")
	require.Equal(t, 2, d.evidence(p), "kept, and proving nothing")
}

func TestW2_ACapturedAnswerOfAStaleOwnerIsAppliedAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.SetNow(t, lease+time.Second)
	require.Len(t, d.takeOver(), 1)
	d.stands(p, payment.OperationUnknown, outcome.ReasonLeaseRanOut)

	applied := d.apply(answer(a, payment.VerdictCaptured))
	require.Equal(t, payment.OperationSucceeded, applied.To)
	require.EqualValues(t, 3, applied.Fence, "whoever holds the fence of the takeover is stale now")
	require.Equal(t, 1, d.postings(p))
	require.Equal(t, []event.Type{event.PaymentUnknown, event.PaymentCaptured}, d.told(p))

	d.apply(answer(a, payment.VerdictCaptured), d.word(p, evidence.Inquiry, payment.VerdictCaptured))
	require.Equal(t, 1, d.postings(p), "one movement, however often it is told")
	require.Equal(t, 3, d.evidence(p))
}

func TestW2_AStaleDeclineCoversItsOwnAttemptOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.claimed()
	d.SetNow(t, lease+time.Second)
	d.takeOver()
	second := d.resent(p)

	d.apply(answer(first, payment.VerdictDeclined, because("expired-card")))
	row := d.row(p)
	require.Equal(t, payment.OperationUnknown, row.State, "the second attempt is under way")
	require.NotNil(t, row.LeaseUntil)
	require.Equal(t, second.Fence, row.Fence)

	d.apply(answer(second, payment.VerdictUnclear, because("no-answer")))
	d.stands(p, payment.OperationUnknown, "no-answer")
	d.SetNow(t, time.Minute)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictNotTaken, authoritative))
	d.stands(p, payment.OperationFailed, "expired-card")
}

func TestW2_AStaleDeclineIsEnoughWhenTheOtherAttemptNeverLeft(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.claimed()
	d.apply(answer(first, payment.VerdictUnclear))
	second := d.resent(p)
	d.apply(answer(second, payment.VerdictUnclear, notSent, because("breaker-open")))
	d.stands(p, payment.OperationUnknown, "breaker-open")
	d.apply(answer(first, payment.VerdictDeclined))
	d.stands(p, payment.OperationFailed, outcome.ReasonDeclined)
}

func TestADeclineOfAResendCoversEarlierAttemptsWhereKeysAreSerialised(t *testing.T) {
	t.Parallel()
	for name, serialises := range map[string]bool{"serialised": true, "not declared": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, first := d.claimed()
			d.apply(answer(first, payment.VerdictUnclear))
			second := d.resent(p)
			d.apply(answer(second, payment.VerdictDeclined, func(o *outcome.Outcome) { o.Learned.CoversEarlier = serialises }))
			if serialises {
				d.stands(p, payment.OperationFailed, outcome.ReasonDeclined)
				return
			}
			d.stands(p, payment.OperationUnknown, "")
			require.NotNil(t, d.row(p).NextCheckAt, "the reconciler asks about the first attempt")
		})
	}
}

// The field's example: success, then another attempt's timeout overwrites it.
func TestNothingOverwritesASuccess(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, first := d.claimed()
	d.apply(answer(first, payment.VerdictUnclear))
	second := d.resent(p)
	d.apply(answer(first, payment.VerdictCaptured))
	succeeded := d.row(p)
	for _, late := range []outcome.Outcome{
		answer(second, payment.VerdictUnclear), answer(second, payment.VerdictDeclined), answer(second, payment.VerdictUnclear, notSent),
		d.word(p, evidence.Closure, payment.VerdictNotTaken, authoritative, settle), d.word(p, evidence.Webhook, payment.VerdictPending),
	} {
		void := late.Learned.Source == evidence.Closure
		require.Equal(t, void, d.apply(late).Contradiction, "a void of what succeeded is for a person to look at")
	}
	require.Equal(t, succeeded.Standing, d.row(p).Standing)
	require.Equal(t, []event.Type{event.PaymentUnknown, event.PaymentCaptured}, d.told(p))
}
