package drift_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU10_AScanThatAgreesAsksAboutNothingAndWritesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, options{perPage: 2})
	b.StartScheduler()
	b.pays(5, payment.StateCaptured)
	before := b.count("evidence")
	b.requests()
	done := b.scan()
	require.Equal(t, int64(5), done.Listed)
	require.Zero(t, done.Told+done.Asked+done.Found)
	pages, inquiries := b.requests()
	require.Equal(t, 3, pages)
	require.Zero(t, inquiries)
	require.Equal(t, before, b.count("evidence"))
	require.Zero(t, b.leftovers())
}

func TestU10_ACaptureThatOnlyTheListKnowsSettlesThePaymentAtOnce(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("cut_after")
	p := b.pays(1, payment.StateUnknown)[0] // no inquiry comes, and no webhook
	done := b.scan()
	require.Equal(t, int64(1), done.Told)
	require.Equal(t, payment.StateCaptured, fixture.State(t, b.DB.App, p))
	require.Empty(t, b.cases(p))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND source = 'list'", p.OperationID))
}

// The list says nothing new but when it says so, and refunds wait for that.
func TestU10_U8_WhatWasDeniedSinceAndIsListedIsToldAgain(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	_, err := b.Applier.Do(t.Context(), outcome.Outcome{PaymentID: p.PaymentID, Learned: evidence.Evidence{
		OperationID: p.OperationID, Source: evidence.Inquiry, Verdict: payment.VerdictNotTaken, ProviderObjectID: b.own(p), AskedAt: time.Now(),
	}})
	require.NoError(t, err)
	mayRefund := "SELECT count(*) FROM operation o WHERE may_be_refunded(o)"
	require.Zero(t, b.Count(mayRefund))
	require.Equal(t, int64(1), b.scan().Told)
	require.Equal(t, 1, b.Count(mayRefund))
	require.Empty(t, b.cases(p))
	require.Zero(t, b.scan().Told)
}

func TestU10_U7_WhatFailedHereAndWasCapturedThereIsACase(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("decline")
	p := b.pays(1, payment.StateFailed)[0]
	b.charges(p.OperationID.String(), 1000)
	b.scan()
	require.Equal(t, []string{"captured_after_failed adopt"}, b.cases(p))
	b.scan()
	require.Len(t, b.cases(p), 1)
}

func TestU10_P1_ASecondChargeUnderOurReferenceIsACaseThatGivesItBack(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	second := b.charges(p.OperationID.String(), 1000)
	done := b.scan()
	require.Equal(t, int64(1), done.Told, "the first one is known")
	require.Equal(t, []string{"captured_twice refund"}, b.cases(p))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM payment_case WHERE provider_object_id = $1", second.ID))
}

func TestU10_B3_AnotherAmountIsACaseForAPerson(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("cut_before")
	p := b.pays(1, payment.StateUnknown)[0]
	b.charges(p.OperationID.String(), 999)
	b.scan()
	require.Equal(t, payment.StateUnknown, fixture.State(t, b.DB.App, p))
	require.Equal(t, []string{"amount_mismatch person"}, b.cases(p))
}

func TestU10_MoneyThatNobodyAskedForIsAFindingUntilAPersonExplainsIt(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	foreign := b.charges("order 17\x00", 555)
	lost := b.charges(uuid.NewString(), 700) // has our form, and is none of ours
	done := b.scan()
	require.Equal(t, int64(2), done.Found)
	found := b.findings()
	require.Len(t, found, 2)
	byObject := map[string]drift.Finding{found[0].ObjectID: found[0], found[1].ObjectID: found[1]}
	f := byObject[foreign.ID]
	require.Equal(t, drift.Unasked, f.Kind)
	require.Equal(t, "order 17", f.Reference)
	require.Equal(t, "5.55 TRY", f.Amount.String())
	require.Equal(t, lost.Reference, byObject[lost.ID].Reference)

	require.ErrorContains(t, drift.Explain(t.Context(), b.DB.App, f.ID, "Ada", " "), "a reason")
	require.NoError(t, drift.Explain(t.Context(), b.DB.App, f.ID, "Ada", "the shop's till"))
	require.ErrorIs(t, drift.Explain(t.Context(), b.DB.App, f.ID, "Ada", "again"), drift.ErrNoFinding)
	require.Zero(t, b.scan().Found)
	require.Len(t, b.findings(), 1, "what was explained stays so")

	_, err := b.DB.App.Exec(t.Context(), "DELETE FROM drift_finding")
	require.Error(t, err)
	_, err = b.DB.Owner.Exec(t.Context(), "DELETE FROM drift_finding")
	require.ErrorContains(t, err, "never changed")
}

func TestU10_U7_WhatSucceededHereAndIsDeniedThereIsACase(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	p := b.claims()
	done := b.scan()
	require.Equal(t, int64(1), done.Asked)
	require.Equal(t, []string{"failed_after_captured person"}, b.cases(p))
	require.Equal(t, payment.StateCaptured, fixture.State(t, b.DB.App, p), "the books are a person's to change")
	require.Zero(t, b.scan().Asked, "the case is known")
}

// A person dismissed the doubt, the provider named the money again, and then it is gone.
func TestU10_U7_ADismissedCaseIsSilentUntilTheProviderHasSpokenAgain(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	p := b.claims()
	b.scan()
	var id uuid.UUID
	require.NoError(t, b.DB.App.QueryRow(t.Context(), "SELECT id FROM payment_case WHERE payment_id = $1", p.PaymentID).Scan(&id))
	_, err := casework.Decide(t.Context(), b.DB.App, id, casework.Decision{Action: casework.Dismiss, Version: 1, Who: "ada", Reason: "they have it"})
	require.NoError(t, err)
	require.Zero(t, b.scan().Asked, "a person knows of it")
	require.Len(t, b.cases(p), 1)

	_, err = b.DB.App.Exec(t.Context(), `INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency, provider_object_id, asked_at, hash)
		SELECT gen_random_uuid(), id, 'inquiry', 'captured', amount_minor, currency, provider_object_id, payonce_now(), sha256('')
		FROM operation WHERE id = $1`, p.OperationID)
	require.NoError(t, err)
	require.Equal(t, int64(1), b.scan().Asked)
	require.Len(t, b.cases(p), 2, "what is denied since is another doubt")
	require.Zero(t, b.scan().Asked)
}

func TestU10_U7_WhatWasVoidedThereBehindOurBackIsACase(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	p := b.pays(1, payment.StateCaptured)[0]
	void := httptest.NewRequest(http.MethodPost, "/v1/charges/void?reference="+p.OperationID.String(), strings.NewReader("{}"))
	b.sim.ServeHTTP(httptest.NewRecorder(), void)
	done := b.scan()
	require.Equal(t, int64(1), done.Listed)
	require.Equal(t, int64(1), done.Asked)
	require.Equal(t, []string{"failed_after_captured person"}, b.cases(p))
}

func TestU10_WithoutAnInquiryWhatIsNotListedIsAFindingUntilItIs(t *testing.T) {
	t.Parallel()
	b := start(t, options{connector: "simulated-keysonly"})
	p := b.claims()
	require.Equal(t, int64(1), b.scan().Found)
	found := b.findings()
	require.Len(t, found, 1)
	require.Equal(t, drift.NotListed, found[0].Kind)
	require.Equal(t, p.OperationID, found[0].OperationID)
	require.Zero(t, b.scan().Found, "it is known")

	b.charges(p.OperationID.String(), 1000) // the list was late
	b.scan()
	require.Empty(t, b.findings())
	require.Empty(t, b.cases(p))
	_, inquiries := b.requests()
	require.Zero(t, inquiries)
}

func TestU10_WhatIsNotFinalIsComparedByALaterScan(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("cut_before")
	p := b.pays(1, payment.StateUnknown)[0]
	b.scan()
	require.Equal(t, 1, b.count("drift_later"))
	b.tells(p)
	b.window = drift.Window{From: b.window.From.Add(-2 * time.Hour), To: b.window.From}
	b.scan()
	require.Equal(t, 1, b.count("drift_later"), "it was sent after that window")
	b.window = drift.Window{From: b.window.To, To: b.window.To.Add(25 * time.Minute)}
	done := b.scan()
	require.Zero(t, b.count("drift_later"))
	require.Equal(t, int64(1), done.Asked)
	require.Equal(t, []string{"failed_after_captured person"}, b.cases(p))
}

func TestU10_PendingThereAndFailedHereIsAskedAboutUntilItIsSettled(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	b.StartScheduler()
	b.scripts("decline", "pending")
	p := b.pays(1, payment.StateFailed)[0]
	b.charges(p.OperationID.String(), 1000)
	require.Equal(t, int64(1), b.scan().Asked)
	open := b.findings()
	require.Len(t, open, 1)
	require.Equal(t, drift.Unsettled, open[0].Kind)
	require.Empty(t, b.cases(p))

	b.ahead.Add(int64(pendingFor))
	b.window = drift.Window{From: b.window.From.Add(-time.Hour), To: b.window.From.Add(-time.Minute)}
	b.scan()
	require.Empty(t, b.findings())
	require.Equal(t, []string{"captured_after_failed adopt"}, b.cases(p))
}

func TestU10_AListCannotProveAnAbsence(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	p := fixture.Accept(t, b.DB.App)
	for _, verdict := range []string{"declined", "not_taken", "unclear"} {
		_, err := b.DB.App.Exec(t.Context(), `INSERT INTO evidence (id, operation_id, source, verdict, asked_at, hash)
			VALUES (gen_random_uuid(), $1, 'list', $2, payonce_now(), sha256(''))`, p.OperationID, verdict)
		require.ErrorContains(t, err, "a_list_tells_what_is_there")
	}
}
