package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/payment"
)

// once is one payment with one operation and one key.
var once = []int{1, 1, 1}

func TestP6_AnIntentIsOnePaymentWhateverBecomesOfItsRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for _, met := range passing {
		t.Run(string(met), func(t *testing.T) {
			t.Parallel()
			own := &shop{Database: s.Database, proxy: newProxy(t, s.target), apiKey: s.apiKey}
			own.meet(met, met)
			intent := client.NewIntent()
			c := own.client(t, client.WithTryTimeout(tryTimeout(met)))
			receipt, err := c.Submit(t.Context(), intent, order(t, string(met), "10.00"))
			require.NoError(t, err)
			require.Equal(t, payment.StateCreated, receipt.Payment.State)
			require.Len(t, own.seen(), 3)
			for _, r := range own.seen() {
				require.Equal(t, []string{intent.String()}, r.Header.Values("Idempotency-Key"))
			}
			require.Equal(t, once, s.stored(t.Context(), t, string(met)))

			again, err := c.Submit(t.Context(), intent, order(t, string(met), "10.00"))
			require.NoError(t, err)
			require.True(t, again.Replayed)
			require.Equal(t, receipt.Payment, again.Payment)
		})
	}
}

// tryTimeout is short only where a request waits for it.
func tryTimeout(met fault) time.Duration {
	if met == silent {
		return 500 * time.Millisecond
	}
	return client.TryTimeoutDefault
}

func TestP6_ManyCallersOfOneIntentUnderAnyFaultsGetOnePayment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	faults := slices.DeleteFunc(slices.Clone(passing), func(f fault) bool { return f == silent })
	rapid.Check(t, func(r *rapid.T) {
		s.meet(rapid.SliceOfN(rapid.SampledFrom(faults), 0, 8).Draw(r, "faults")...)
		intent, invoice := client.NewIntent(), uuid.NewString()
		crashed, err := client.ParseIntent(intent.String()) // the same one, after a restart
		require.NoError(r, err)
		ids, asked := make(chan uuid.UUID, 3), order(r, invoice, "10.00")
		for _, mine := range []*client.Intent{intent, intent, crashed} {
			go func() {
				receipt, err := c.Submit(t.Context(), mine, asked)
				if err != nil {
					t.Error(err)
				}
				ids <- receipt.Payment.ID
			}()
		}
		first := <-ids
		require.NotEqual(r, uuid.Nil, first)
		require.Equal(r, first, <-ids)
		require.Equal(r, first, <-ids)
		require.Equal(r, once, s.stored(t.Context(), r, invoice))
	})
}

func TestP3_WhatMayHaveArrivedIsUnresolvedAndNeverFailed(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.elsewhere = elsewhere(t)
	for name, met := range map[string][]fault{
		"nobody answers": slices.Repeat([]fault{cutBefore}, 100),
		"an answer is lost, then a key is revoked": {cutAfter, revoked},
		"a redirect":        {redirected},
		"a firewall's page": {forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			own := &shop{Database: s.Database, proxy: newProxy(t, s.target), apiKey: s.apiKey}
			own.elsewhere = s.elsewhere
			own.meet(met...)
			c := own.client(t, client.WithRetry(client.Retry{First: time.Millisecond, Longest: time.Millisecond, Within: 10 * time.Millisecond}))
			intent := client.NewIntent()
			_, err := c.Submit(t.Context(), intent, order(t, name, "10.00"))
			require.ErrorIs(t, err, client.ErrUnresolved)
			unresolved, ok := errors.AsType[*client.UnresolvedError](err)
			require.True(t, ok)
			require.Same(t, intent, unresolved.Intent)
			require.NotContains(t, err.Error(), s.apiKey)

			later := &shop{Database: s.Database, proxy: newProxy(t, s.target), apiKey: s.apiKey}
			receipt, err := later.client(t).Submit(t.Context(), unresolved.Intent, order(t, name, "10.00"))
			require.NoError(t, err)
			require.Equal(t, name, receipt.Payment.InvoiceID)
			require.Equal(t, once, s.stored(t.Context(), t, name))
		})
	}
}

// elsewhere is the address of a server that must hear nothing.
func elsewhere(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request went to somebody else")
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestP3_ARefusalSpeaksForAnIntentOnlyWhenNothingOfItIsUnanswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	intent := client.NewIntent()
	s.meet(revoked)
	_, err := c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.NotErrorIs(t, err, client.ErrUnresolved, "payonce said that it did nothing")
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok)
	require.Equal(t, "unauthorized", problem.Name())

	// After a crash nobody knows what the first process has sent.
	resumed, err := client.ParseIntent(intent.String())
	require.NoError(t, err)
	s.meet(revoked)
	_, err = c.Submit(t.Context(), resumed, order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved)
	require.ErrorAs(t, err, &problem)
}

func TestI9_AConflictBringsThePaymentThatStandsInTheWay(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	first, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	before := len(s.seen())
	_, err = c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	conflict, ok := errors.AsType[*client.ConflictError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, &first.Payment, conflict.Payment)
	require.NotErrorIs(t, err, client.ErrUnresolved)
	require.Len(t, s.seen(), before+1, "a conflict is not repeated")
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok)
	require.Equal(t, "invoice-has-payment", problem.Name())
}

// The unanswered request may be on its way still. It is taken on if it arrives when
// what stands in the way has failed.
func TestP3_AConflictIsNoProofAboutARequestThatWentUnanswered(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	first, err := c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	intent := client.NewIntent()
	s.meet(cutBefore)
	_, err = c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved)
	conflict, ok := errors.AsType[*client.ConflictError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, &first.Payment, conflict.Payment)

	settle.Charge(t, s.App, first.Payment, payment.VerdictDeclined)
	receipt, err := c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	require.NotEqual(t, first.Payment.ID, receipt.Payment.ID)
}

// The process dies after its request, and makes the deadline anew when it comes back.
func TestI5_AnIntentWithAPaymentOfAnotherRequestIsNeverTakenForOneWithout(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	intent, request := client.NewIntent(), order(t, "INV-1", "10.00")
	request.ChargeBefore = time.Now().Add(time.Hour)
	s.meet(cutAfter)
	dying := s.client(t, client.WithRetry(client.Retry{First: time.Millisecond, Longest: time.Millisecond}))
	_, err := dying.Submit(t.Context(), intent, request)
	require.ErrorIs(t, err, client.ErrUnresolved)

	resumed, err := client.ParseIntent(intent.String())
	require.NoError(t, err)
	request.ChargeBefore = request.ChargeBefore.Add(time.Second)
	_, err = s.client(t).Submit(t.Context(), resumed, request)
	reused, ok := errors.AsType[*client.KeyReusedError](err)
	require.True(t, ok, "%v", err)
	require.Same(t, resumed, reused.Intent)
	require.Equal(t, []string{"chargeBefore"}, reused.DifferingFields)
	require.Contains(t, err.Error(), "taken on")
	require.Equal(t, once, s.stored(t.Context(), t, "INV-1"))
}

func TestI5_AnotherRequestUnderAnIntentIsRefusedWithTheFieldsThatDiffer(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	intent := client.NewIntent()
	_, err := c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	_, err = c.Submit(t.Context(), intent, order(t, "INV-1", "10.01"))
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, []string{"amount"}, problem.DifferingFields)
	require.NotErrorIs(t, err, client.ErrUnresolved)
	s.meet(revoked)
	_, err = c.Submit(t.Context(), intent, order(t, "INV-1", "10.01"))
	require.ErrorIs(t, err, client.ErrUnresolved, "the intent has a payment")
}

func TestABrokenRequestNamesItsFieldsAndIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	_, err := s.client(t).Submit(t.Context(), client.NewIntent(), client.PaymentRequest{})
	problem, ok := errors.AsType[*client.ProblemError](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, http.StatusBadRequest, problem.Status)
	require.NotEmpty(t, problem.Errors)
	require.Len(t, s.seen(), 1)
}

func TestI4_AFinalPaymentIsASuccessThatSaysHowItEnded(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	intent := client.NewIntent()
	receipt, err := c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	settle.Charge(t, s.App, receipt.Payment, payment.VerdictDeclined)
	again, err := c.Submit(t.Context(), intent, order(t, "INV-1", "10.00"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, payment.StateFailed, again.Payment.State)
}

func TestAClientThatIsStoppedSaysWhetherItHadAsked(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	c := s.client(t)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	intent := client.NewIntent()
	_, err := c.Submit(stopped, intent, order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, client.ErrUnresolved, "nothing was sent")

	asking, stop := context.WithCancel(t.Context())
	defer stop()
	s.meet(silent)
	s.atSilence = stop
	_, err = c.Submit(asking, intent, order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved)
	require.ErrorIs(t, err, context.Canceled)
	_, err = c.Submit(stopped, intent, order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved, "an earlier one was")
}

func TestAnIntentIsStoredAsTextAndAForgottenOneIsRefused(t *testing.T) {
	t.Parallel()
	type row struct {
		Intent *client.Intent `json:"intent"`
	}
	stored, err := json.Marshal(row{client.NewIntent()})
	require.NoError(t, err)
	var loaded row
	require.NoError(t, json.Unmarshal(stored, &loaded))
	require.Equal(t, fmt.Sprintf(`{"intent":%q}`, loaded.Intent), string(stored))
	for _, text := range []string{"", "key", uuid.NewString(), "{" + loaded.Intent.String() + "}"} {
		_, err := client.ParseIntent(text)
		require.Error(t, err, text)
	}
	c, err := client.New("https://127.0.0.1:1", "key")
	require.NoError(t, err)
	for _, forgotten := range []*client.Intent{nil, {}} {
		_, err = c.Submit(t.Context(), forgotten, order(t, "INV-1", "10.00"))
		require.ErrorContains(t, err, "NewIntent")
	}
}
