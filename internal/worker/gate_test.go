package worker

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// declared is a connector that answers every question alike and is sent nothing.
type declared struct {
	provider.Connector
	capabilities provider.Capabilities
	says         provider.Answer
}

func (d declared) Capabilities() provider.Capabilities { return d.capabilities }
func (d declared) Recipe() string                      { return "declared/1@a" }

func (d declared) Inquire(context.Context, provider.Operation) provider.Answer { return d.says }

func gateOf(c provider.Capabilities) *gate { return gateTo(declared{capabilities: c}) }

func gateTo(d declared) *gate {
	return newGate("card", d, Config{Slots: 8, Pace: Pace{}.withDefaults()}, zap.NewNop())
}

var askable = provider.Capabilities{Inquiry: provider.Inquiry{Supported: true}}

var (
	captured   = provider.Answer{Verdict: payment.VerdictCaptured, Status: 201}
	unanswered = provider.Answer{Reason: provider.ReasonNoAnswer}
)

// tells lets the circuit hear answers to as many requests.
func (c *circuit) tells(t *testing.T, times int, a provider.Answer) {
	t.Helper()
	for range times {
		report, _, err := c.enter()
		require.NoError(t, err)
		report(a)
	}
}

func TestW3_RefundsThatFailLeaveChargesAlone(t *testing.T) {
	t.Parallel()
	g := gateOf(askable)
	refunds, charges := g.circuits[payment.KindRefund], g.circuits[payment.KindCharge]
	refunds.tells(t, breakerMinimum, unanswered)
	n, reason := refunds.admit(1)
	require.Zero(t, n)
	require.Equal(t, ReasonBreakerOpen, reason)
	_, refused, err := refunds.enter()
	require.Error(t, err)
	require.Equal(t, ReasonBreakerOpen, refused)
	n, _ = charges.admit(20)
	require.Equal(t, 8, n)
	n, reason = g.circuits[payment.KindVoid].admit(1)
	require.Zero(t, n, "the account's slots are shared")
	require.Equal(t, ReasonNoSlot, reason)
}

func TestW3_FailuresInARowOpenABreakerAfterAGoodHour(t *testing.T) {
	t.Parallel()
	c := gateOf(askable).circuits[payment.KindCharge]
	c.tells(t, 1000, captured)
	c.tells(t, breakerMinimum-1, unanswered)
	require.Equal(t, gobreaker.StateClosed, c.breaker.State())
	c.tells(t, 1, unanswered)
	require.Equal(t, gobreaker.StateOpen, c.breaker.State())
}

func TestW3_WhatIsNoFaultOfTheProviderOpensNoBreaker(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]provider.Answer{
		"a decline":            {Verdict: payment.VerdictDeclined, Status: 422, Reason: "insufficient_funds"},
		"not taken":            {Verdict: payment.VerdictNotTaken, Status: 503},
		"our deadline":         {NotSent: true, Reason: provider.ReasonNotSent, Err: provider.ErrStopDeadline},
		"our database":         {NotSent: true, Reason: provider.ReasonNotPrepared, Err: errNotTheProvider},
		"our own fault":        {NotSent: true, Reason: provider.ReasonInvalidOperation},
		"it is under way, yet": {Verdict: payment.VerdictPending, Status: 201},
	} {
		c := gateOf(askable).circuits[payment.KindCharge]
		c.tells(t, 3*breakerMinimum, a)
		require.Equal(t, gobreaker.StateClosed, c.breaker.State(), name)
	}
}

func TestW3_AWishForAPauseHoldsUpTheAccountAndOpensNoBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := gateOf(askable).circuits[payment.KindCharge]
		c.tells(t, 1, provider.Answer{Verdict: payment.VerdictNotTaken, Reason: provider.ReasonTryLater, Status: 429, RetryAfter: 2 * time.Second})
		require.Equal(t, gobreaker.StateClosed, c.breaker.State())
		n, reason := c.admit(1)
		require.Zero(t, n)
		require.Equal(t, ReasonRateLimited, reason)
		_, refused, err := c.enter()
		require.Error(t, err, "what was claimed a moment ago is held back, too")
		require.Equal(t, ReasonRateLimited, refused)
		<-time.After(2 * time.Second)
		n, _ = c.admit(8)
		require.Equal(t, breakerProbes, n, "and goes on slowly")
	})
}

func TestW3_AnOpenBreakerIsLeftByQuestionsWhereTheProviderHasThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			capabilities provider.Capabilities
			sends        int
		}{{askable, 0}, {provider.Capabilities{}, breakerProbes}} {
			charges := gateOf(c.capabilities).circuits[payment.KindCharge]
			charges.tells(t, breakerMinimum, unanswered)
			<-time.After(restDefault + time.Millisecond)
			n, reason := charges.admit(8)
			require.Equal(t, c.sends, n)
			require.Equal(t, ReasonBreakerOpen, reason)
			_, _, err := charges.enter()
			require.Equal(t, c.sends == 0, err != nil, "nor does a claim of before get through")
		}
	})
}

func TestW3_AnAnswerInTheProvidersOwnFormatClosesTheBreaker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			says  provider.Answer
			state gobreaker.State
			sends int
		}{
			{provider.Answer{Status: 200, Verdict: payment.VerdictNotTaken, Reason: provider.ReasonNotFound}, gobreaker.StateClosed, breakerProbes},
			{provider.Answer{Status: 404, Reason: provider.ReasonOtherAccount}, gobreaker.StateClosed, breakerProbes},
			{provider.Answer{Status: 502, Reason: provider.ReasonForeignAnswer}, gobreaker.StateOpen, 0},
			{provider.Answer{Status: 401, Reason: provider.ReasonCredentials}, gobreaker.StateOpen, 0},
			{unanswered, gobreaker.StateOpen, 0},
			// Known without asking, which tells nothing about the provider: requests have to.
			{provider.Answer{Verdict: payment.VerdictNotTaken, Reason: provider.ReasonNotPrepared}, gobreaker.StateHalfOpen, breakerProbes},
		} {
			charges := gateTo(declared{capabilities: askable, says: c.says}).circuits[payment.KindCharge]
			charges.tells(t, breakerMinimum, unanswered)
			<-time.After(restDefault + time.Millisecond)
			charges.askAbout(t.Context(), make([]operation.Due, 2))
			require.Equal(t, c.state, charges.breaker.State(), c.says.Reason)
			n, _ := charges.admit(8)
			require.Equal(t, c.sends, n, c.says.Reason)
		}
	})
}

func TestW3_AProviderThatAnswersQuestionsOnlyIsGivenUpAfterAFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := gateTo(declared{capabilities: askable, says: provider.Answer{Status: 200, Verdict: payment.VerdictNotTaken}}).circuits[payment.KindCharge]
		comeBack := func() {
			<-time.After(restDefault + time.Millisecond)
			c.askAbout(t.Context(), make([]operation.Due, 1))
			require.Equal(t, gobreaker.StateClosed, c.breaker.State())
		}
		c.tells(t, breakerMinimum, unanswered)
		comeBack()
		c.tells(t, breakerProbes, unanswered)
		require.Equal(t, gobreaker.StateOpen, c.breaker.State())
		comeBack()
		c.tells(t, 1, captured)
		c.tells(t, breakerProbes, unanswered)
		require.Equal(t, gobreaker.StateClosed, c.breaker.State(), "one that fails now and then is not")
	})
}

func TestW3_QuestionsThatAlwaysFailGiveWayToAFewRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		failing := provider.Answer{Status: 500, Reason: provider.ReasonServerError}
		c := gateTo(declared{capabilities: askable, says: failing}).circuits[payment.KindCharge]
		inVain := func() {
			for range probeRounds {
				<-time.After(restDefault + time.Millisecond)
				n, _ := c.admit(8)
				require.Zero(t, n, "a question comes first")
				c.askAbout(t.Context(), make([]operation.Due, 1))
				require.Equal(t, gobreaker.StateOpen, c.breaker.State())
			}
			<-time.After(restDefault + time.Millisecond)
		}
		c.tells(t, breakerMinimum, unanswered)
		inVain()
		n, _ := c.admit(8)
		require.Equal(t, breakerProbes, n)
		c.tells(t, 1, unanswered)
		c.release(n)
		inVain() // it is down, so that it is asked again
		n, _ = c.admit(8)
		require.Equal(t, breakerProbes, n)
		c.tells(t, breakerProbes, captured)
		require.Equal(t, gobreaker.StateClosed, c.breaker.State())
	})
}

func TestW7_MessagesStandInLineBehindWhatWaits(t *testing.T) {
	t.Parallel()
	g := gateOf(askable)
	c := g.circuits[payment.KindCharge]
	n, _ := c.admitNew(8)
	require.Equal(t, 8, n)
	_, slots, short := g.admitDue()
	require.Zero(t, slots)
	require.True(t, short)
	c.release(8)
	n, reason := c.admitNew(1)
	require.Zero(t, n, "nobody has looked who waits")
	require.Equal(t, ReasonNoSlot, reason)
	shares, slots, _ := g.admitDue()
	require.Equal(t, 8, slots)
	require.Len(t, shares, len(payment.Kinds), "any kind can have them")
	n, _ = c.admitNew(1)
	require.Zero(t, n)
	g.giveBack(shares, slots)
	c.behind.Store(false)
	n, _ = c.admitNew(8)
	require.Equal(t, 8, n)
}
