package drift_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// own is the provider's name of what an operation was done with.
func (b *bundle) own(p operation.NewPayment) string {
	b.t.Helper()
	about, found, err := operation.LookUp(b.t.Context(), b.DB.App, p.OperationID)
	require.NoError(b.t, err)
	require.True(b.t, found)
	require.NotNil(b.t, about.ProviderObjectID)
	return *about.ProviderObjectID
}

// denies has an inquiry say that an operation did not take place.
func (b *bundle) denies(p operation.NewPayment) {
	b.t.Helper()
	about, _, err := operation.LookUp(b.t.Context(), b.DB.App, p.OperationID)
	require.NoError(b.t, err)
	said := outcome.Learned(p.OperationID, evidence.Inquiry, provider.Answer{Verdict: payment.VerdictNotTaken}, about.AskedAt)
	said.CoversUntil = about.AskedAt
	applied, err := b.Applier.Do(b.t.Context(), outcome.Outcome{PaymentID: p.PaymentID, Learned: said, Settle: true})
	require.NoError(b.t, err)
	require.Equal(b.t, payment.OperationFailed, applied.To)
}

// unrefunded asserts that no rule gives anything back.
func (b *bundle) unrefunded() {
	b.t.Helper()
	require.Zero(b.t, b.Count("SELECT count(*) FROM payment_case WHERE waits_for = 'machine' AND state <> 'resolved' AND plan <> 'person'"))
	require.Zero(b.t, b.Count("SELECT count(*) FROM operation WHERE kind <> 'charge'"))
}

// The refund of the second charge would give back the only money that there is.
func TestU10_U8_ASecondChargeStaysWhereTheFirstOneIsGone(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*bundle, operation.NewPayment){
		"dropped": func(b *bundle, p operation.NewPayment) { b.drops = b.own(p) },
		"voided": func(b *bundle, p operation.NewPayment) {
			void := httptest.NewRequest("POST", "/v1/charges/"+b.own(p)+"/void", strings.NewReader(`{"reference":"by-hand"}`))
			void.Header.Set("Idempotency-Key", "by-hand")
			answer := httptest.NewRecorder()
			b.sim.ServeHTTP(answer, void)
			require.Equal(b.t, 201, answer.Code, answer.Body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, options{})
			b.StartScheduler()
			p := b.pays(1, payment.StateCaptured)[0]
			b.charges(p.OperationID.String(), 1000)
			lose(b, p)
			require.Positive(t, b.scan().Asked)
			require.Contains(t, b.cases(p), "captured_twice person")
			b.unrefunded()
			var kinds []drift.Kind
			for _, f := range b.findings() {
				if f.OperationID == p.OperationID {
					kinds = append(kinds, f.Kind)
				}
			}
			require.Contains(t, kinds, drift.NotListed)
		})
	}
}

// The window of the second charge is another one than the first one's.
func TestU10_U8_ASecondChargeOfALaterWindowAsksAboutTheFirst(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	b.drops = b.own(p)
	b.ahead.Add(int64(30 * time.Minute))
	b.charges(p.OperationID.String(), 1000)
	b.window = drift.Window{From: b.window.To, To: b.window.To.Add(25 * time.Minute)}
	require.Positive(t, b.scan().Asked)
	require.Equal(t, []string{"captured_twice person"}, b.cases(p))
	b.unrefunded()
}

func TestU10_WithoutAnInquiryASecondChargeWhoseFirstIsNotListedIsForAPerson(t *testing.T) {
	t.Parallel()
	b := start(t, options{connector: "simulated-keysonly"})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	b.drops = b.own(p)
	second := b.charges(p.OperationID.String(), 1000)
	require.Equal(t, int64(2), b.scan().Found)
	require.Empty(t, b.cases(p))
	byKind := map[drift.Kind]string{}
	for _, f := range b.findings() {
		byKind[f.Kind] = f.ObjectID
	}
	require.Equal(t, map[drift.Kind]string{drift.NotListed: "", drift.Unsettled: second.ID}, byKind)
	require.Zero(t, b.scan().Found, "it is known")
}

// What is under way beside what an operation succeeded with is not forgotten.
func TestU10_PendingBesideASuccessIsAskedAboutByItsName(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	b.scripts("ok", "pending")
	second := b.charges(p.OperationID.String(), 1000).ID
	require.Equal(t, int64(1), b.scan().Asked)
	open := b.findings()
	require.Len(t, open, 1)
	require.Equal(t, drift.Unsettled, open[0].Kind)
	require.Equal(t, second, open[0].ObjectID)
	require.Empty(t, b.cases(p))

	b.ahead.Add(int64(pendingFor))
	b.window = drift.Window{From: b.window.From.Add(-5 * time.Hour), To: b.window.From.Add(-4 * time.Hour)}
	b.scan()
	require.Empty(t, b.findings())
	require.Equal(t, []string{"captured_twice refund"}, b.cases(p), "the first one stands")
}

func TestU10_WhatWasOpenAndHasFailedIsAskedAboutByALaterScan(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("cut_before")
	p := b.pays(1, payment.StateUnknown)[0]
	b.scan()
	b.denies(p)
	b.charges(p.OperationID.String(), 1000)
	b.window = drift.Window{From: b.window.From.Add(-5 * time.Hour), To: b.window.From.Add(-4 * time.Hour)}
	require.Equal(t, int64(1), b.scan().Asked)
	require.Equal(t, []string{"captured_after_failed adopt"}, b.cases(p))
	require.Equal(t, payment.StateFailed, fixture.State(t, b.DB.App, p))
}

// interruption is an asker whose process is stopped by its first question.
type interruption struct{ stop context.CancelFunc }

// Ask implements drift.Asker.
func (i interruption) Ask(context.Context, operation.LookedUp, string) (provider.Answer, outcome.Applied, error) {
	i.stop()
	return provider.Answer{}, outcome.Applied{}, context.Canceled
}

// The first 1,000 took every scan's questions when only they were recalled, and nobody
// asked about the others ever again.
func TestU10_EachUnsettledFindingIsAskedAboutInEachScan(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	p := b.claims()
	_, err := b.DB.App.Exec(t.Context(), `INSERT INTO drift_finding (id, provider_account, kind, object_id, operation_id, verdict)
		SELECT gen_random_uuid(), $1, 'unsettled', 'ch_' || n, $2, 'pending' FROM generate_series(1, 2500) AS n`, fixture.Account, p.OperationID)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	b.scanner.Asker = interruption{stop}
	b.later()
	_, err = b.scanner.Scan(ctx, fixture.Account, b.window)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2500, b.Count("SELECT count(*) FROM drift_question WHERE object_id <> ''"))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM drift_question WHERE object_id = ''"), "and of the window, what is not listed")
}
