package outcome_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// The sequence that this holds off: the reconciler is about to void our reference;
// the worker tells late that its attempt was never sent; the operation goes back
// to created and is charged; the void arrives and takes the charge back.
func TestU4_OnceItsDoorIsBeingClosedNothingIsSentForAnOperation(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.SetNow(t, time.Minute)
	require.Len(t, d.takeOver(), 1)
	fence := d.row(p).Fence
	begun := d.apply(d.word(p, evidence.Closure, payment.VerdictUnclear, because(outcome.ReasonClosing)))
	require.Equal(t, outcome.Applied{
		OperationID: p.OperationID, From: payment.OperationUnknown, To: payment.OperationUnknown, Fence: fence, WaitsFor: operation.Machine,
	}, begun)

	d.apply(answer(a, payment.VerdictUnclear, notSent))
	require.Equal(t, payment.OperationUnknown, d.row(p).State, "not created: nobody may claim it")
	ordered, err := operation.OrderResend(t.Context(), d.pool, operation.Stand{OperationID: p.OperationID, Fence: d.row(p).Fence})
	require.NoError(t, err)
	require.False(t, ordered)

	d.apply(d.word(p, evidence.Closure, payment.VerdictNotTaken, authoritative, settle))
	require.Equal(t, payment.OperationFailed, d.row(p).State)
}

func TestP1_MoreThanOneChargeForAReferenceIsSaidAloud(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictUnclear))
	several := d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, because(provider.ReasonSeveralCharges)))
	require.True(t, several.Contradiction)
	require.Equal(t, payment.OperationSucceeded, several.To, "the movement did take place")

	another, b := d.claimed()
	first := answer(b, payment.VerdictCaptured)
	first.Learned.ProviderObjectID = "ch_first"
	require.False(t, d.apply(first).Contradiction)
	second := d.word(another, evidence.Webhook, payment.VerdictCaptured)
	second.Learned.ProviderObjectID = "ch_second"
	require.True(t, d.apply(second).Contradiction)
}
