package outcome

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

var storyBegin = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// TestP3_WhateverIsToldDecideNeverGuesses plays stories that no honest provider
// and no correct worker would tell: answers that contradict each other, come
// twice, come late or speak of old attempts.
func TestP3_WhateverIsToldDecideNeverGuesses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := newStory(t, 2)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			a := s.draw(t)
			before := s.standings()
			applied := s.happens(a, rapid.Float64Range(0, 1).Draw(t, "chance"))
			s.check(t, a, before, applied)
			s.checkCases(t)
		}
	})
}

func newStory(t *rapid.T, count int) *story {
	s := &story{now: storyBegin, taken: map[uuid.UUID]bool{}}
	for range count {
		k := &known{row: operation.Locked{ID: uuid.New(), PaymentID: uuid.New(), Kind: payment.KindCharge, Amount: amount(1000, "TRY")}}
		due := s.now.Add(operation.MessageGrace)
		k.row.Standing = operation.Standing{State: payment.OperationCreated, NextAttemptAt: &due, WaitsFor: operation.Machine}
		k.row.ChargeBefore = drawChargeBefore(t, s.now)
		s.cast = append(s.cast, k)
	}
	return s
}

func drawChargeBefore(t *rapid.T, now time.Time) *time.Time {
	if rapid.Bool().Draw(t, "unbounded") {
		return nil
	}
	return new(now.Add(time.Duration(rapid.IntRange(1, 300).Draw(t, "chargeBefore")) * time.Second))
}

func amount(minor int64, currency money.Currency) money.Amount {
	a, err := money.New(minor, currency)
	if err != nil {
		panic(err) // only beyond MinorMax
	}
	return a
}

// draw chooses what happens next.
func (s *story) draw(t *rapid.T) action {
	a := action{whom: s.drawWhom(t)}
	k := s.cast[a.whom]
	a.kind = rapid.SampledFrom([]actionKind{
		wait, message, due, order, look, takeOver, expire, tell, tell, tell, tell, rival, carry, carry, judge,
	}).Draw(t, "kind")
	switch a.kind {
	case wait:
		a.after = time.Duration(rapid.IntRange(1, 40_000).Draw(t, "ms")) * time.Millisecond
	case order:
		a.fence = k.row.Fence - int64(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "stale"))
	case tell:
		a.outcomes = []Outcome{s.drawOutcome(t, k)}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "more") {
			a.outcomes = append(a.outcomes, s.drawOutcome(t, s.cast[rapid.IntRange(0, len(s.cast)-1).Draw(t, "whose")]))
		}
	case carry, judge:
		drawCase(t, k, &a)
		if a.kind == wait {
			a.after = time.Second
		}
	case message, due, look, takeOver, expire, rival:
	}
	return a
}

var (
	sources = []evidence.Source{
		evidence.Inquiry, evidence.Inquiry, evidence.Closure, evidence.Webhook, evidence.Settlement, evidence.Operator,
	}
	verdicts = []payment.Verdict{
		payment.VerdictUnclear, payment.VerdictCaptured, payment.VerdictDeclined, payment.VerdictNotTaken, payment.VerdictNotTaken,
		payment.VerdictPending,
	}
)

func (s *story) drawOutcome(t *rapid.T, k *known) Outcome {
	o := Outcome{PaymentID: k.row.PaymentID, Learned: evidence.Evidence{
		OperationID: k.row.ID, Verdict: rapid.SampledFrom(verdicts).Draw(t, "verdict"),
		ProviderObjectID: rapid.SampledFrom([]string{"", "ch_1", "ch_2"}).Draw(t, "object"),
		Reason:           rapid.SampledFrom([]string{"", "insufficient-funds"}).Draw(t, "reason"),
	}}
	if o.Learned.Verdict == payment.VerdictCaptured {
		o.Learned.Amount = rapid.SampledFrom([]money.Amount{
			k.row.Amount, k.row.Amount, k.row.Amount, amount(999, "TRY"), amount(1000, "USD"), {},
		}).Draw(t, "amount")
	}
	if rapid.IntRange(0, 5).Draw(t, "others") == 0 {
		o.Others = append(o.Others, provider.Movement{
			Verdict: payment.VerdictCaptured, ObjectID: "ch_3",
			Amount: rapid.SampledFrom([]money.Amount{k.row.Amount, amount(999, "TRY")}).Draw(t, "more"),
		}, provider.Movement{Verdict: payment.VerdictDeclined, ObjectID: "ch_2", Amount: k.row.Amount})
	}
	if len(k.attempts) > 0 && rapid.Bool().Draw(t, "answer") {
		drawAnswer(t, k, &o)
	} else {
		s.drawWord(t, &o)
	}
	return o
}

// noClaim is the name of a claim that there is no attempt of.
var noClaim = uuid.MustParse("00000000-0000-7000-8000-000000000000")

// drawAnswer lets an attempt be answered, the newest one more often than others.
func drawAnswer(t *rapid.T, k *known, o *Outcome) {
	at := len(k.attempts) - 1
	if rapid.IntRange(0, 2).Draw(t, "old") == 0 {
		at = rapid.IntRange(0, at).Draw(t, "attempt")
	}
	o.Learned.Source, o.Learned.Fence, o.Learned.AskedAt = evidence.Answer, k.attempts[at].Fence, k.attempts[at].ClaimedAt
	o.ClaimID = k.attempts[at].ClaimID
	if rapid.IntRange(0, 5).Draw(t, "another claim") == 0 {
		o.ClaimID = noClaim // one that rolled back, or was lost: the fence is the next one's, too
	}
	switch o.Learned.Verdict {
	case payment.VerdictDeclined:
		o.Learned.CoversEarlier = rapid.Bool().Draw(t, "serialises")
	case payment.VerdictNotTaken:
		o.NotSent = rapid.Bool().Draw(t, "notSent")
		o.RetryAfter = time.Duration(rapid.IntRange(0, 20).Draw(t, "retryAfter")) * time.Second
	case payment.VerdictUnclear, payment.VerdictCaptured, payment.VerdictPending:
	}
}

// drawWord lets the provider say something without an attempt.
func (s *story) drawWord(t *rapid.T, o *Outcome) {
	o.Learned.Source = rapid.SampledFrom(sources).Draw(t, "source")
	o.Learned.AskedAt = s.now.Add(-time.Duration(rapid.SampledFrom([]int{0, 0, 0, 3, 30}).Draw(t, "asked")) * time.Second)
	o.Settle = rapid.Bool().Draw(t, "settle")
	if no(o.Learned) && o.Learned.Source != evidence.Webhook && rapid.Bool().Draw(t, "authoritative") {
		o.Learned.CoversUntil = o.Learned.AskedAt.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "grace")) * time.Second)
	}
}

func (s *story) standings() []operation.Standing {
	standings := make([]operation.Standing, len(s.cast))
	for i, k := range s.cast {
		standings[i] = k.row.Standing
	}
	return standings
}

// spokenOf reports that the last thing told of a payment was told of this operation.
// What failed beside it can prove it, too, and is taken in with the next word.
func spokenOf(a action, k *known) bool {
	last := uuid.Nil
	for _, o := range a.outcomes {
		if unheard := o.NotSent && o.ClaimID == noClaim; o.PaymentID == k.row.PaymentID && !unheard {
			last = o.Learned.OperationID
		}
	}
	return last == k.row.ID
}

// check holds what must hold after every step, whatever was told.
func (s *story) check(t require.TestingT, a action, before []operation.Standing, applied []Applied) {
	require.Empty(t, s.objections)
	s.follows()
	for i, k := range s.cast[:len(before)] {
		from, to := before[i], k.row.Standing
		at := fmt.Sprintf("operation %d after %s: %s -> %s", i, a.kind, from.State, to.State)
		require.GreaterOrEqual(t, to.Fence, from.Fence, at)
		late := to.State == payment.OperationSucceeded && (k.row.CaseID != nil || a.kind == carry)
		if from.State == payment.OperationSucceeded && from.ProviderObjectID == nil {
			from.ProviderObjectID = to.ProviderObjectID // the provider has named it since
		}
		if from.State.Final() && !late {
			require.Equal(t, from, to, "%s: final is final", at)
		}
		switch to.State {
		case payment.OperationSucceeded:
			require.True(t, from.State == to.State || proven(k), at)
		case payment.OperationFailed, payment.OperationCreated:
			require.Zero(t, uncovered(k), at)
		case payment.OperationProcessing:
			require.NotNil(t, to.LeaseUntil, at)
		case payment.OperationPending, payment.OperationUnknown, payment.OperationCanceled:
		}
		if proven(k) && to.State != payment.OperationFailed && spokenOf(a, k) {
			require.Equal(t, payment.OperationSucceeded, to.State, "%s: proven is applied at once", at)
		}
		if tookPlace(k) && to.State != payment.OperationFailed && to.State != payment.OperationSucceeded {
			require.Equal(t, payment.OperationUnknown, to.State, at)
			require.Equal(t, operation.Person, to.WaitsFor, "%s: another amount is for a person (B3)", at)
		}
		if a.kind != tell && a.kind != carry {
			require.Empty(t, refused(k, from, to), at)
		}
	}
	for i, r := range applied {
		k := s.named(r.OperationID)
		if r.From == payment.OperationFailed && proven(k) && a.outcomes[i].Learned.Verdict == payment.VerdictCaptured {
			require.True(t, r.Contradiction, "captured after failed is for a person")
		}
	}
}
