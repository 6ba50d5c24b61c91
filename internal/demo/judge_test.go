package demo

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

// sound is what everyone says when one payment was captured and one was declined.
func sound() (f findings, captured, declined charge) {
	shop := uuid.New()
	captured = charge{uuid.New(), uuid.New(), shop, payment.StateCaptured, 1000, "TRY", 0, nil}
	declined = charge{uuid.New(), uuid.New(), shop, payment.StateFailed, 500, "TRY", 0, nil}
	asked, took, refused := uuid.New(), uuid.New(), uuid.New()
	return findings{
		accepted: map[uuid.UUID]order{captured.Payment: {}, declined.Payment: {}},
		charges:  map[uuid.UUID]charge{captured.Payment: captured, declined.Payment: declined},
		balances: []balance{
			{"provider:card:clearing", "TRY", 1000},
			{payable(shop), "TRY", -1000},
		},
		told: []told{
			{captured.Payment, asked, false}, {captured.Payment, took, true}, {declined.Payment, refused, true},
		},
		bills:     []bill{{captured.Payment, 1000, "TRY"}},
		delivered: map[uuid.UUID]int{asked: 2, took: 1, refused: 1},
		order:     map[uuid.UUID][]uuid.UUID{captured.Payment: {took}, declined.Payment: {refused}},
		oracles: []pspsim.Oracle{{
			Totals: map[string]pspsim.Total{"TRY": {Charged: 1000}},
			References: map[string]pspsim.Counts{
				captured.Operation.String(): {Charged: 1, Sends: 2},
				declined.Operation.String(): {Sends: 1},
			},
		}},
	}, captured, declined
}

func TestASoundRunKeepsEveryPromise(t *testing.T) {
	t.Parallel()
	f, _, _ := sound()
	r := f.judge()
	require.Empty(t, r.Broken())
	require.Equal(t, []int{2, 1, 1, 3, 1, 3, 1},
		[]int{r.Accepted, r.Captured, r.Failed, r.Sends, r.ProviderCharges, r.EventsPublished, r.Billed})
}

// A charge that came late for a failed payment and was refunded by its case is no
// disagreement; one whose money still stands in suspense is.
func TestU7_WhatACaseGaveBackDoesNotStand(t *testing.T) {
	t.Parallel()
	f, _, declined := sound()
	back := uuid.New()
	declined.GivenBack = []uuid.UUID{back}
	f.charges[declined.Payment] = declined
	f.oracles[0].References[declined.Operation.String()] = pspsim.Counts{Charged: 1}
	f.oracles[0].References[back.String()] = pspsim.Counts{Refunded: 1}
	f.refunds = map[uuid.UUID]refund{back: {back, declined.Payment, "", payment.OperationSucceeded, 500, "TRY", 0}}
	f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 1500, Refunded: 500}
	require.Empty(t, f.judge().Broken())
	f.balances = append(f.balances, balance{"provider:card:suspense", "TRY", -500}, balance{"provider:card:clearing", "TRY", 500})
	require.Equal(t, []string{"P4"}, f.judge().Broken())
}

func TestEveryBreachIsFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breach func(f *findings, captured, declined charge)
		broken []string
	}{
		"charged twice": {func(f *findings, captured, _ charge) {
			f.oracles[0].References[captured.Operation.String()] = pspsim.Counts{Charged: 2}
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 2000}
		}, []string{"P1"}},
		"charged twice and voided once": {func(f *findings, captured, _ charge) {
			f.oracles[0].References[captured.Operation.String()] = pspsim.Counts{Charged: 2, Voided: 1}
		}, []string{"P1"}},
		"charged another amount": {func(f *findings, _, _ charge) {
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 999}
		}, []string{"P1"}},
		"failed and charged": {func(f *findings, _, declined charge) {
			f.oracles[0].References[declined.Operation.String()] = pspsim.Counts{Charged: 1}
			f.oracles[0].Totals["TRY"] = pspsim.Total{Charged: 1500}
		}, []string{"P1", "P3"}},
		"captured and never asked for": {func(f *findings, captured, _ charge) {
			delete(f.oracles[0].References, captured.Operation.String())
			f.oracles[0].Totals["TRY"] = pspsim.Total{}
		}, []string{"P1", "P3"}},
		"lost": {func(f *findings, _, declined charge) {
			delete(f.charges, declined.Payment)
		}, []string{"P2"}},
		"still open": {func(f *findings, _, declined charge) {
			declined.State = payment.StateUnknown
			f.charges[declined.Payment] = declined
		}, []string{"P2"}},
		"guessed": {func(f *findings, _, _ charge) {
			f.guesses = 1
		}, []string{"P3"}},
		"unbalanced": {func(f *findings, _, _ charge) {
			f.balances[0].Minor++
		}, []string{"P4"}},
		"booked to nobody": {func(f *findings, _, _ charge) {
			f.balances[1].Account = payable(uuid.New())
		}, []string{"P4"}},
		"not published": {func(f *findings, _, _ charge) {
			delete(f.delivered, f.told[1].Event)
			f.order = map[uuid.UUID][]uuid.UUID{f.told[2].Payment: f.order[f.told[2].Payment]}
		}, []string{"P5"}},
		"one event for another": {func(f *findings, _, _ charge) {
			delete(f.delivered, f.told[0].Event)
			f.delivered[uuid.New()] = 1
		}, []string{"P5"}},
		"published and not committed": {func(f *findings, _, _ charge) {
			f.delivered[uuid.New()] = 1
		}, []string{"P5"}},
		"left in the outbox": {func(f *findings, _, _ charge) {
			f.Unpublished = 1
		}, []string{"P5"}},
		"not as its schema says": {func(f *findings, _, _ charge) {
			f.invalid = 1
		}, []string{"P5"}},
		"out of order": {func(f *findings, captured, _ charge) {
			f.order[captured.Payment] = []uuid.UUID{uuid.New(), f.told[1].Event}
		}, []string{"P5"}},
		"not billed": {func(f *findings, _, _ charge) {
			f.bills = nil
		}, []string{"P5"}},
		"billed wrongly": {func(f *findings, _, _ charge) {
			f.bills[0].Minor++
		}, []string{"P5"}},
		"untold": {func(f *findings, _, declined charge) {
			f.accepted = map[uuid.UUID]order{}
			f.charges = map[uuid.UUID]charge{declined.Payment: declined}
			f.balances, f.bills, f.oracles = nil, nil, nil
		}, []string{"P6"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, captured, declined := sound()
			c.breach(&f, captured, declined)
			r := f.judge()
			require.Equal(t, c.broken, r.Broken(), "%+v", r)
		})
	}
}

func TestAnUnequalAnswerBreaksAPromise(t *testing.T) {
	t.Parallel()
	f, _, _ := sound()
	r := f.judge()
	r.unequalAnswers = 1
	require.Equal(t, []string{"P6"}, r.Broken())
}
