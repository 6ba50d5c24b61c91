package outcome_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/pkg/payment"
)

// anotherClaim is a claim at the attempt's fence that rolled back, or was lost.
func anotherClaim(a operation.Attempt) operation.Attempt {
	a.ClaimID = uuid.New()
	return a
}

func TestP1_P3_NotSentOfAClaimThatNeverWasIsNotHeard(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	next := a
	next.Fence++
	for name, of := range map[string]operation.Attempt{"at the attempt's fence": anotherClaim(a), "before its fence is anybody's": anotherClaim(next)} {
		before := d.row(p)
		applied := d.apply(answer(of, payment.VerdictUnclear, notSent))
		require.Equal(t, outcome.Applied{
			OperationID: p.OperationID, From: payment.OperationProcessing, To: payment.OperationProcessing, Fence: a.Fence, WaitsFor: operation.Machine,
		}, applied, name)
		require.Equal(t, before.Standing, d.row(p).Standing, name)
	}
	require.Zero(t, d.count("SELECT count(*) FROM attempt WHERE finished_at IS NOT NULL"))
	require.Zero(t, d.evidence(p))

	// Nor where no lease guards the attempt any more.
	d.SetNow(t, lease+time.Second)
	require.Len(t, d.takeOver(), 1)
	d.apply(answer(anotherClaim(a), payment.VerdictUnclear, notSent))
	d.stands(p, payment.OperationUnknown, outcome.ReasonLeaseRanOut)
	require.Zero(t, d.count("SELECT count(*) FROM attempt WHERE not_sent"))
	d.apply(answer(a, payment.VerdictUnclear, notSent))
	d.stands(p, payment.OperationCreated, outcome.ReasonRetrying)
}

// Commits were lost and nobody has said so yet: the worker of a lost claim tells what
// came of it, while its operation was claimed again at the same fence.
func TestP1_P3_AnotherClaimsNoCoversNothingAndEndsNoLease(t *testing.T) {
	t.Parallel()
	covering := func(o *outcome.Outcome) { o.Learned.CoversEarlier = true }
	for name, told := range map[string]func(operation.Attempt) outcome.Outcome{
		"declined":  func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictDeclined, covering) },
		"not taken": func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictNotTaken) },
		"unclear":   func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictUnclear) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p, a := d.claimed()
			before := d.row(p)
			d.apply(told(anotherClaim(a)))
			require.Equal(t, before.Standing, d.row(p).Standing)
			require.Equal(t, 1, d.count("SELECT count(*) FROM evidence WHERE verdict = 'unclear' AND NOT covers_earlier"))
			require.Zero(t, d.count("SELECT count(*) FROM attempt WHERE finished_at IS NOT NULL"))

			d.apply(answer(a, payment.VerdictCaptured))
			d.stands(p, payment.OperationSucceeded, "")
		})
	}
}

func TestP1_AnotherClaimsGoodNewsIsAppliedAtOnceAndLeavesTheOtherStale(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	applied := d.apply(answer(anotherClaim(a), payment.VerdictCaptured, named("ch_1")))
	require.Equal(t, payment.OperationSucceeded, applied.To)
	require.EqualValues(t, 2, applied.Fence)
	require.Equal(t, 1, d.postings(p))
	require.Zero(t, d.count("SELECT count(*) FROM attempt WHERE finished_at IS NOT NULL"), "it told nothing yet")
}
