package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/reconcile"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/webhook"
	"github.com/payonce/payonce/pkg/payment"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// ear is a rig that also hears what its provider tells.
type ear struct {
	*rig.Rig
	receiver *webhook.Receiver
	events   *reconcile.Events
}

func listen(t *testing.T, o rig.Options) ear {
	t.Helper()
	e := ear{Rig: rig.New(t, o)}
	notifier, ok := e.Connector.(provider.Notifier)
	require.True(t, ok)
	sources := map[string]webhook.Source{fixture.Account: {Notifier: notifier, Secrets: []string{webhookSecret}}}
	e.receiver = webhook.NewReceiver(e.DB.App, sources, time.Now, zaptest.NewLogger(t))
	e.events = e.anotherEvents(t)
	return e
}

// anotherEvents is what one more reconciler process has.
func (e ear) anotherEvents(t *testing.T) *reconcile.Events {
	t.Helper()
	events := reconcile.NewEvents(e.Reconciler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		events.RunApplier(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return events
}

// movement is a charge of the payment as the provider would tell it.
func movement(p operation.NewPayment, status pspsim.Status) pspsim.Movement {
	return pspsim.Movement{
		ID: "ch_000000000001", Kind: "charge", Reference: p.OperationID.String(), Status: status,
		AmountMinor: p.Amount.Minor(), Currency: string(p.Amount.Currency()), CreatedAt: time.Now(),
	}
}

// hears takes one webhook in.
func (e ear) hears(t *testing.T, id string, m pspsim.Movement) {
	t.Helper()
	body, err := json.Marshal(pspsim.Event{Type: m.Kind + "." + string(m.Status), Timestamp: time.Now(), Data: m})
	require.NoError(t, err)
	e.hearsBody(t, id, body)
}

func (e ear) hearsBody(t *testing.T, id string, body []byte) {
	t.Helper()
	header := pspsim.Sign(webhookSecret, id, time.Now(), body)
	require.NoError(t, e.receiver.Receive(t.Context(), fixture.Account, provider.Webhook{Header: header, Body: body}))
}

// workOff works off what is due.
func (e ear) workOff(t *testing.T) {
	t.Helper()
	_, err := e.events.WorkOff(t.Context())
	require.NoError(t, err)
}

// event reads what has become of an event.
func (e ear) event(t *testing.T, id string) (state, reason string) {
	t.Helper()
	err := e.DB.App.QueryRow(t.Context(), "SELECT state, coalesce(reason, '') FROM provider_event WHERE event_id = $1", id).Scan(&state, &reason)
	require.NoError(t, err)
	return state, reason
}

// capturedOnce asserts one charge with everything that follows from it.
func (e ear) capturedOnce(t *testing.T, p operation.NewPayment) {
	t.Helper()
	state, _, _ := e.Operation(p)
	require.Equal(t, payment.OperationSucceeded, state)
	require.Equal(t, 2, e.Count("SELECT count(*) FROM ledger_entry WHERE operation_id = $1", p.OperationID))
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_history WHERE payment_id = $1 AND event_type = 'payonce.PaymentCaptured.v1'", p.PaymentID))
	require.Zero(t, e.Count("SELECT count(*) FROM payment_case"))
}

// isUnknown leaves a payment charged at the provider, and its answer lost.
func (e ear) isUnknown(t *testing.T) (operation.NewPayment, pspsim.Movement) {
	t.Helper()
	s := fellAsleep(t, e.Rig)
	answer := s.sends(t)
	require.Equal(t, payment.VerdictCaptured, answer.Verdict)
	takeOver(t, e.Rig)
	m := movement(s.payment, pspsim.StatusCaptured)
	m.ID = answer.ObjectID
	return s.payment, m
}

func TestU8_ACapturedWebhookSettlesAnUnknownPaymentAtOnce(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	p, m := e.isUnknown(t)
	e.hears(t, "evt_1", m)
	e.workOff(t)
	e.capturedOnce(t, p)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM evidence WHERE source = 'webhook' AND verdict = 'captured' AND hash = (SELECT hash FROM provider_event)"))
	require.Zero(t, e.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry'"), "nobody had to ask")
	state, _ := e.event(t, "evt_1")
	require.Equal(t, "applied", state)
}

func TestU8_AWebhookMayBeFasterThanTheWorkersAnswer(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	s := fellAsleep(t, e.Rig)
	answer := s.sends(t)
	m := movement(s.payment, pspsim.StatusCaptured)
	m.ID = answer.ObjectID
	e.hears(t, "evt_1", m)
	e.workOff(t)
	e.capturedOnce(t, s.payment)
	require.NoError(t, s.tells(t.Context(), answer))
	e.capturedOnce(t, s.payment)
}

// Both start at the same instant, with a copy and with a second reconciler.
func TestU8_P1_AWebhookRacesTheWorkersAnswer(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{Timeout: 10 * time.Second})
	second := e.anotherEvents(t)
	for round := range 10 {
		s := fellAsleep(t, e.Rig)
		answer := s.sends(t)
		m := movement(s.payment, pspsim.StatusCaptured)
		m.ID = answer.ObjectID
		e.hears(t, "evt_a_"+m.ID, m)
		e.hears(t, "evt_b_"+m.ID, m)
		ctx := context.WithoutCancel(t.Context())
		tells := func() error { return s.tells(ctx, answer) }
		first := func() error { _, err := e.events.WorkOff(ctx); return err }
		other := func() error { _, err := second.WorkOff(ctx); return err }
		if round%2 == 0 {
			together(t, tells, first, other)
		} else {
			together(t, other, first, tells)
		}
		e.capturedOnce(t, s.payment)
		charged, sends := e.Charged(s.payment)
		require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
	}
}

func TestU8_ANegativeWebhookAfterSuccessIsAskedAboutAndChangesNothing(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	p, m := e.isUnknown(t)
	e.hears(t, "evt_2", m)
	e.workOff(t)
	for n, status := range []pspsim.Status{pspsim.StatusDeclined, pspsim.StatusVoided, pspsim.StatusPending} {
		m.Status = status
		e.hears(t, "evt_"+string(status), m)
		e.workOff(t)
		e.capturedOnce(t, p)
		require.Equal(t, n+1, e.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry' AND verdict = 'captured'"), "the provider was asked")
		state, _ := e.event(t, "evt_"+string(status))
		require.Equal(t, "applied", state)
	}
}

func TestU8_U7_ACapturedWebhookAfterFailureOpensACase(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	s := fellAsleep(t, e.Rig)
	require.NoError(t, s.tells(t.Context(), declined))
	e.hears(t, "evt_1", movement(s.payment, pspsim.StatusCaptured))
	e.workOff(t)
	state, _, _ := e.Operation(s.payment)
	require.Equal(t, payment.OperationFailed, state, "what was told is not overwritten")
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE kind = 'captured_after_failed' AND suspended"))
}

func TestU8_U7_ANegativeWebhookIsBelievedOnceTheProviderSaysSoWhenAsked(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	p, m := e.isUnknown(t)
	e.hears(t, "evt_1", m)
	e.workOff(t)
	e.voidsAtTheProvider(t, p)
	e.DB.SetNow(t, 10*time.Minute)
	m.Status = pspsim.StatusVoided
	e.hears(t, "evt_2", m)
	e.workOff(t)
	state, _, _ := e.Operation(p)
	require.Equal(t, payment.OperationSucceeded, state, "the books are a person's to change")
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE kind = 'failed_after_captured' AND waits_for = 'person'"))
}

// says is a connector whose provider answers every question with the same words.
type says struct {
	provider.Connector
	provider.Notifier

	answer *provider.Answer
	about  *provider.Operation
}

func (s says) Inquire(_ context.Context, op provider.Operation) provider.Answer {
	*s.about = op
	return *s.answer
}

// says replaces what the provider answers from now on, and tells what it was asked about.
func (e ear) says(t *testing.T) says {
	t.Helper()
	notifier, ok := e.Connector.(provider.Notifier)
	require.True(t, ok)
	s := says{Connector: e.Connector, Notifier: notifier, answer: new(provider.Answer), about: new(provider.Operation)}
	e.Reconciler.Accounts[fixture.Account] = s
	return s
}

// Money that is still under way after the payment failed is what a customer would
// have paid with a second time.
func TestU8_U7_WhatIsPendingAfterFailureIsAskedAboutUntilItEnds(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	sleeper := fellAsleep(t, e.Rig)
	require.NoError(t, sleeper.tells(t.Context(), declined))
	m := movement(sleeper.payment, pspsim.StatusPending)
	told := e.says(t)
	told.answer.Verdict, told.answer.ObjectID, told.answer.Amount = payment.VerdictPending, m.ID, sleeper.payment.Amount
	e.hears(t, "evt_1", m)
	e.workOff(t)
	state, reason := e.event(t, "evt_1")
	require.Equal(t, [2]string{"waiting", "undecided"}, [2]string{state, reason})
	require.Equal(t, m.ID, told.about.ObjectID, "it is asked about the object that the event names")
	require.Zero(t, e.Count("SELECT count(*) FROM payment_case"))

	told.answer.Verdict = payment.VerdictCaptured
	e.DB.SetNow(t, time.Hour)
	e.workOff(t)
	state, _ = e.event(t, "evt_1")
	require.Equal(t, "applied", state)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE kind = 'captured_after_failed'"))
}

// voidsAtTheProvider takes the charge back behind our back.
func (e ear) voidsAtTheProvider(t *testing.T, p operation.NewPayment) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, e.URL+"/v1/charges/void?reference="+p.OperationID.String(), nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Timeout: rig.Patience}).Do(r)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

func TestU8_ANegativeWebhookMakesTheReconcilerLookAndSettlesNothing(t *testing.T) {
	t.Parallel()
	for _, status := range []pspsim.Status{pspsim.StatusDeclined, pspsim.StatusVoided, pspsim.StatusPending} {
		t.Run(string(status), func(t *testing.T) {
			t.Parallel()
			e := listen(t, rig.Options{})
			p, m := e.isUnknown(t)
			_, err := e.DB.App.Exec(t.Context(), "UPDATE operation SET next_check_at = payonce_now() + interval '1 day'")
			require.NoError(t, err)
			m.Status = status
			e.hears(t, "evt_1", m)
			e.workOff(t)
			state, _, _ := e.Operation(p)
			require.Equal(t, payment.OperationUnknown, state)
			require.Equal(t, 1, e.Count("SELECT count(*) FROM operation WHERE next_check_at <= payonce_now()"))
			require.Equal(t, 1, e.Count("SELECT count(*) FROM evidence WHERE source = 'webhook' AND verdict = 'unclear' AND reason LIKE 'webhook-%'"))
			lookOnce(t, e.Rig)
			e.capturedOnce(t, p)
		})
	}
}

func TestU8_ANegativeWebhookWaitsForTheAttemptThatIsUnderWay(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	s := fellAsleep(t, e.Rig)
	e.hears(t, "evt_1", movement(s.payment, pspsim.StatusDeclined))
	e.workOff(t)
	state, reason := e.event(t, "evt_1")
	require.Equal(t, [2]string{"waiting", "busy"}, [2]string{state, reason})
	require.NoError(t, s.tells(t.Context(), s.sends(t)))
	e.DB.SetNow(t, 2*time.Minute)
	e.workOff(t)
	e.capturedOnce(t, s.payment)
	state, _ = e.event(t, "evt_1")
	require.Equal(t, "applied", state)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry'"))
}

func TestU8_APendingWebhookKeepsAPaymentFromBeingSentAgain(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{Connector: "simulated-nokeys"})
	s := fellAsleep(t, e.Rig)
	require.NoError(t, s.tells(t.Context(), provider.Answer{Verdict: payment.VerdictNotTaken, Reason: provider.ReasonTryLater}))
	state, _, _ := e.Operation(s.payment)
	require.Equal(t, payment.OperationCreated, state)
	e.hears(t, "evt_1", movement(s.payment, pspsim.StatusPending))
	e.workOff(t)
	state, _, _ = e.Operation(s.payment)
	require.Equal(t, payment.OperationUnknown, state)
}

func TestU8_TenCopiesHaveOneEffect(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	e.providerTells(t, pspsim.Webhooks{Copies: 9})
	p, _ := e.isUnknown(t)
	require.Eventually(t, func() bool { return e.Count("SELECT count(*) FROM provider_event") == 1 }, rig.Patience, time.Millisecond)
	// A copy that is just being stored holds the row, and a look passes it by.
	require.Eventually(t, func() bool {
		e.workOff(t)
		return e.Count("SELECT count(*) FROM provider_event WHERE state = 'waiting'") == 0
	}, rig.Patience, time.Millisecond)
	e.capturedOnce(t, p)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM evidence WHERE source = 'webhook'"))
}

// providerTells has the simulated provider send its webhooks here.
func (e ear) providerTells(t *testing.T, w pspsim.Webhooks) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		err = errors.Join(err, e.receiver.Receive(r.Context(), fixture.Account, provider.Webhook{Header: r.Header, Body: body}))
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	w.URL, w.Secret = server.URL, webhookSecret
	require.NoError(t, e.Sim.SetWebhooks(w))
	t.Cleanup(func() { require.NoError(t, e.Sim.SetWebhooks(pspsim.Webhooks{})) })
}

// Everything at once: a provider that cuts answers, is slow and pending, and tells
// late, twice and out of order, with two reconcilers.
func TestU8_P1_P2_InAnyOrderEachPaymentEndsWhereTheProviderIs(t *testing.T) {
	t.Parallel()
	faults := pspsim.Faults{Rates: pspsim.Rates{CutAfter: 0.4, Decline: 0.2, Pending: 0.3, PendingDecline: 0.3, PendingMS: 100}}
	e := listen(t, rig.Options{Faults: faults})
	e.providerTells(t, pspsim.Webhooks{Copies: 1, Spread: pspsim.Duration(400 * time.Millisecond), BeforeAnswer: true})
	for _, events := range []*reconcile.Events{e.events, e.anotherEvents(t)} {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { defer close(done); events.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
	}
	payments := fixture.AcceptMany(t, e.DB.App, 40)
	e.DueNow(payments...)
	e.StartScheduler()
	e.StartReconciler()
	e.AwaitState(payments, payment.StateCaptured, payment.StateFailed)
	require.Eventually(t, func() bool { return e.Count("SELECT count(*) FROM provider_event WHERE state = 'waiting'") == 0 }, rig.Patience, 20*time.Millisecond)
	for _, p := range payments {
		state, _, _ := e.Operation(p)
		charged, _ := e.Charged(p)
		require.Equal(t, state == payment.OperationSucceeded, charged == 1)
	}
	require.Zero(t, e.Count("SELECT count(*) FROM payment_case"))
	require.Zero(t, e.Count("SELECT count(*) FROM provider_event WHERE state <> 'applied'"))
}

func TestU8_AWebhookWaitsForOurOwnRecord(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	later, never := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7())
	amount := fixture.Accept(t, e.DB.App).Amount
	e.hears(t, "evt_1", movement(operation.NewPayment{OperationID: later, Amount: amount}, pspsim.StatusCaptured))
	e.hears(t, "evt_2", movement(operation.NewPayment{OperationID: never, Amount: amount}, pspsim.StatusCaptured))
	e.workOff(t)
	state, reason := e.event(t, "evt_1")
	require.Equal(t, [2]string{"waiting", "no-operation"}, [2]string{state, reason})

	p := fixture.Accept(t, e.DB.App, func(p *operation.NewPayment) { p.OperationID = later })
	e.DB.SetNow(t, time.Minute)
	e.workOff(t)
	e.capturedOnce(t, p)
	e.DB.SetNow(t, reconcile.MatchPatience+time.Minute)
	e.workOff(t)
	state, reason = e.event(t, "evt_2")
	require.Equal(t, [2]string{"person", "no-operation"}, [2]string{state, reason})
}

func TestU8_TwoReconcilersWorkEachEventOffOnce(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	second := e.anotherEvents(t)
	payments := fixture.AcceptMany(t, e.DB.App, 40)
	for _, p := range payments {
		e.hears(t, "evt_"+p.OperationID.String(), movement(p, pspsim.StatusCaptured))
	}
	ctx := context.WithoutCancel(t.Context())
	first := func() error { _, err := e.events.WorkOff(ctx); return err }
	other := func() error { _, err := second.WorkOff(ctx); return err }
	together(t, first, other, first, other)
	require.Equal(t, 40, e.Count("SELECT count(*) FROM evidence WHERE source = 'webhook'"))
	require.Equal(t, 40, e.Count("SELECT count(*) FROM provider_event WHERE state = 'applied' AND tries = 1"))
	require.Equal(t, 80, e.Count("SELECT count(*) FROM ledger_entry"))
}

func TestU8_B3_ACaptureOfAnotherAmountGoesToAPerson(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	p, m := e.isUnknown(t)
	m.AmountMinor--
	e.hears(t, "evt_1", m)
	e.workOff(t)
	state, _, reason := e.Operation(p)
	require.Equal(t, payment.OperationUnknown, state)
	require.Equal(t, "amount-mismatch", reason)
	require.Equal(t, 1, e.Count("SELECT count(*) FROM payment_case WHERE kind = 'amount_mismatch'"))
}

func TestU8_AWebhookSpeaksOnlyOfItsOwnAccountsOperations(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	foreign := fixture.Accept(t, e.DB.App, fixture.WithAccount("card-b"))
	own := fixture.Accept(t, e.DB.App)
	refund := movement(own, pspsim.StatusCaptured)
	refund.Kind = "refund"
	e.hears(t, "evt_account", movement(foreign, pspsim.StatusCaptured))
	e.hears(t, "evt_kind", refund)
	e.workOff(t)
	for _, p := range []operation.NewPayment{foreign, own} {
		state, _, _ := e.Operation(p)
		require.Equal(t, payment.OperationCreated, state)
	}
	require.Zero(t, e.Count("SELECT count(*) FROM evidence"))
	for id, reason := range map[string]string{"evt_account": "other-account", "evt_kind": "other-kind"} {
		state, said := e.event(t, id)
		require.Equal(t, [2]string{"person", reason}, [2]string{state, said})
	}
}

func TestU8_WhatIsNotAboutAPaymentOfOursIsKeptAsSuch(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{})
	stranger := movement(fixture.Accept(t, e.DB.App), pspsim.StatusCaptured)
	stranger.Reference = "order 7 of another program"
	e.hears(t, "evt_stranger", stranger)
	e.hearsBody(t, "evt_type", []byte(`{"type":"account.updated","timestamp":"2026-01-01T00:00:00Z","data":{"id":"sim_1"}}`))
	e.hearsBody(t, "evt_broken", []byte(`{"type":"charge.captured","data":`))
	e.hearsBody(t, "evt_hollow", []byte(`{"type":"charge.captured","data":{}}`))
	e.workOff(t)
	for id, want := range map[string][2]string{
		"evt_stranger": {"ignored", "foreign"}, "evt_type": {"ignored", "unknown-type"},
		"evt_broken": {"person", "unreadable"}, "evt_hollow": {"person", "unreadable"},
	} {
		state, reason := e.event(t, id)
		require.Equal(t, want, [2]string{state, reason}, id)
	}
}

func TestU8_AProviderThatCannotBeAskedLeavesItsDenialToAPerson(t *testing.T) {
	t.Parallel()
	e := listen(t, rig.Options{Connector: "simulated-keysonly"})
	p, m := e.isUnknown(t)
	e.hears(t, "evt_1", m)
	e.workOff(t)
	m.Status = pspsim.StatusVoided
	e.hears(t, "evt_2", m)
	e.workOff(t)
	e.capturedOnce(t, p)
	state, reason := e.event(t, "evt_2")
	require.Equal(t, [2]string{"person", "no-inquiry"}, [2]string{state, reason})
}
