package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/await"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// patience is far beyond what is needed: it matters only when a test fails.
const patience = 60 * time.Second

func prefer(wait string) func(*http.Request) { return header("Prefer", "wait="+wait) }

// getWaiting asks for a payment and waits for its end.
func (d *door) getWaiting(t *testing.T, path, wait string) answer {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	r.RequestURI = "" // it goes out
	r.Header.Set("Authorization", "Bearer "+d.key)
	r.Header.Set("Prefer", "wait="+wait)
	return d.send(t, r)
}

// atDoor sends a request in the background and returns where its answer comes.
func atDoor(request func() answer) <-chan answer {
	answers := make(chan answer, 1)
	go func() { answers <- request() }()
	return answers
}

// awaitWaiting returns when n clients wait.
func awaitWaiting(t *testing.T, room *WaitingRoom, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return room.Waiting() == n }, patience, time.Millisecond)
}

// paymentOf reads the payment of an invoice.
func (d *door) paymentOf(t *testing.T, invoice string) payment.View {
	t.Helper()
	var id uuid.UUID
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT id FROM payment WHERE invoice_id = $1", invoice).Scan(&id))
	return d.get(t, location(id), d.key).view(t)
}

func TestI3_AWaitingClientGetsTheVeryAnswerThatRepeatsGet(t *testing.T) {
	t.Parallel()
	for verdict, state := range map[payment.Verdict]payment.State{
		payment.VerdictCaptured: payment.StateCaptured, payment.VerdictDeclined: payment.StateFailed,
	} {
		d := newDoor(t)
		first := atDoor(func() answer { return d.post(t, "k-1", order("INV-1", `"10.00"`), prefer("30")) })
		awaitWaiting(t, d.waiting, 1)
		repeat := atDoor(func() answer { return d.post(t, "k-1", order("INV-1", `"10.00"`), prefer("60")) })
		awaitWaiting(t, d.waiting, 2)
		settle.Charge(t, d.App, d.paymentOf(t, "INV-1"), verdict)

		got, again := <-first, <-repeat
		later := d.post(t, "k-1", order("INV-1", `"10.00"`))
		require.Equal(t, http.StatusCreated, got.status)
		require.Equal(t, state, got.view(t).State)
		require.Equal(t, location(got.view(t).ID), got.header.Get("Location"))
		require.Equal(t, "wait=30", got.header.Get("Preference-Applied"))
		require.Empty(t, got.header.Get("Idempotent-Replayed"))
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		require.Equal(t, "wait=30", again.header.Get("Preference-Applied"), "it is capped")
		for _, a := range []answer{got, again} {
			require.Equal(t, later.status, a.status)
			require.Equal(t, string(later.body), string(a.body), "byte for byte")
		}
	}
}

func TestI3_WhenTheTimeIsOverTheAnswerIsThePresentState(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	// It moves before the wait begins, because nothing says how long a move takes here.
	posted := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	settle.Charge(t, d.App, posted, payment.VerdictPending)
	recorded := patientAnswer{httptest.NewRecorder()}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/payments", nil)
	require.NoError(t, newAPI(d.config).await(recorded, r, &waiter{
		merchantID: d.shop.ID, wait: time.Second, tell: sendResult, result: accept.Result{PaymentID: posted.ID, Payment: posted},
	}))
	got := answer{recorded.Code, recorded.Header(), recorded.Body.Bytes()}
	require.Equal(t, http.StatusAccepted, got.status)
	require.Equal(t, payment.StatePending, got.view(t).State)
	require.Equal(t, "wait=1", got.header.Get("Preference-Applied"))
	require.Equal(t, location(posted.ID), got.header.Get("Location"))
}

func TestI3_GettingAPaymentCanWaitToo(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	view := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	open := d.getWaiting(t, location(view.ID), "1")
	require.Equal(t, http.StatusOK, open.status)
	require.Equal(t, payment.StateCreated, open.view(t).State)

	asked := atDoor(func() answer { return d.getWaiting(t, location(view.ID), "30") })
	awaitWaiting(t, d.waiting, 1)
	settle.Charge(t, d.App, view, payment.VerdictCaptured)
	for _, got := range []answer{<-asked, d.getWaiting(t, location(view.ID), "30")} {
		require.Equal(t, http.StatusOK, got.status)
		require.Equal(t, payment.StateCaptured, got.view(t).State)
		require.Equal(t, "wait=30", got.header.Get("Preference-Applied"))
	}
}

func TestI3_WhatBecomesFinalBehindTheLastLookIsAnsweredAsRepeatsAre(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	posted := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	late := &waiter{merchantID: d.shop.ID, result: accept.Result{PaymentID: posted.ID, Payment: posted}}
	settle.Charge(t, d.App, posted, payment.VerdictCaptured)
	result := newAPI(d.config).present(t.Context(), late)
	repeat := d.post(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, &accept.Answer{Status: repeat.status, Body: repeat.body}, result.Answer)
}

// counted is a door of its own to the database, whose looks are counted.
func (d *door) counted(t *testing.T) (*WaitingRoom, *atomic.Int64) {
	t.Helper()
	var queries atomic.Int64
	room := await.New(func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]accept.Answer, error) {
		queries.Add(1)
		return accept.FinalAnswers(ctx, d.App, ids)
	}, zap.NewNop())
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		room.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	config := d.config
	config.Waiting = room
	d.handler = New(config)
	d.url = d.serve(t, func(*http.Server) {}).URL
	return room, &queries
}

// untilItMoves is a client that waits again when its time was over: on a busy machine two
// thousand need longer than that to come in.
func untilItMoves(ask func() answer) answer {
	for {
		if a := ask(); !strings.Contains(string(a.body), `"state":"created"`) {
			return a
		}
	}
}

func TestI3_TwoThousandClientsWaitInOneProcessWithOneQueryAtATime(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	room, queries := d.counted(t)
	const invoices, clients, posters, wave = 50, 2000, 200, 100
	require.Greater(t, clients, InFlightMax, "who waits is not at work")
	views := make([]payment.View, invoices)
	for i := range views {
		views[i] = d.post(t, fmt.Sprint("k-", i), order(fmt.Sprint("INV-", i), `"10.00"`)).view(t)
	}
	answers := make(chan answer, clients)
	began := time.Now()
	for i := range clients {
		key, body, path := fmt.Sprint("k-", i%invoices), order(fmt.Sprint("INV-", i%invoices), `"10.00"`), location(views[i%invoices].ID)
		go func() {
			ask := func() answer { return d.getWaiting(t, path, "30") }
			if i < posters {
				ask = func() answer { return d.postPatiently(t, key, body, prefer("30")) }
			}
			answers <- untilItMoves(ask)
		}()
		if (i+1)%wave == 0 { // more at once would only wait for a processor
			awaitWaiting(t, room, i+1)
		}
	}
	require.Equal(t, http.StatusAccepted, d.post(t, "k-other", order("INV-other", `"10.00"`)).status, "there is room for work")
	for _, view := range views {
		settle.Charge(t, d.App, view, payment.VerdictCaptured)
	}
	bodies := map[string]int{}
	for range clients {
		a := <-answers
		require.Equal(t, payment.StateCaptured, a.view(t).State)
		if a.status == http.StatusCreated {
			bodies[string(a.body)]++
		}
	}
	require.LessOrEqual(t, queries.Load(), int64(time.Since(began)/await.LookInterval)+1)
	require.Len(t, bodies, invoices)
	for i := range invoices {
		repeat := d.post(t, fmt.Sprint("k-", i), order(fmt.Sprint("INV-", i), `"10.00"`))
		require.Equal(t, posters/invoices, bodies[string(repeat.body)])
	}
	require.Zero(t, room.Waiting())
}

func TestI3_AStopAnswersWhoWaitsAtOnceAndCutsNobody(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	var config *http.Server
	d.url = d.serve(t, func(s *http.Server) { config = s }).URL
	config.RegisterOnShutdown(d.waiting.Close)
	var waiting []<-chan answer
	for i := range 20 {
		waiting = append(waiting, atDoor(func() answer {
			return d.postPatiently(t, fmt.Sprint("k-", i), order(fmt.Sprint("INV-", i), `"10.00"`), prefer("30"))
		}))
	}
	awaitWaiting(t, d.waiting, len(waiting))
	began := time.Now()
	require.NoError(t, config.Shutdown(t.Context()))
	require.Less(t, time.Since(began), WaitMax/2)
	for _, w := range waiting {
		a := <-w
		require.Equal(t, http.StatusAccepted, a.status)
		require.Equal(t, payment.StateCreated, a.view(t).State)
		require.Empty(t, a.header.Get("Preference-Applied"), "it did not wait as long as it wanted to")
	}
}

func TestI3_WithoutAPlaceToWaitTheAnswerComesAtOnce(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.waiting.Close()
	a := d.post(t, "k-1", order("INV-1", `"10.00"`), prefer("30"))
	require.Equal(t, http.StatusAccepted, a.status)
	require.Empty(t, a.header.Get("Preference-Applied"))
}

// patientAnswer is an answer for which a server would wait.
type patientAnswer struct{ *httptest.ResponseRecorder }

func (patientAnswer) SetWriteDeadline(time.Time) error { return nil }

func TestI3_OneMerchantCannotTakeEveryPlaceToWait(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := newAPI(d.config)
	a.waits = newShares(1)
	posted := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	wait := func() patientAnswer {
		answer := patientAnswer{httptest.NewRecorder()}
		require.NoError(t, a.await(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/payments", nil), &waiter{
			merchantID: d.shop.ID, wait: time.Second, tell: sendResult, result: accept.Result{PaymentID: posted.ID, Payment: posted},
		}))
		return answer
	}
	require.True(t, a.waits.take(d.shop.ID))
	refused := wait()
	require.Equal(t, http.StatusAccepted, refused.Code)
	require.Empty(t, refused.Header().Get("Preference-Applied"))
	a.waits.giveBack(d.shop.ID)
	require.Equal(t, "wait=1", wait().Header().Get("Preference-Applied"))
	require.Empty(t, a.waits.held, "the place was given back")
}

func TestI3_WaitsThatEndAtOnceLeaveTheDatabaseToPayments(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := newAPI(d.config)
	posted := d.post(t, "k-1", order("INV-1", `"10.00"`)).view(t)
	settle.Charge(t, d.App, posted, payment.VerdictPending)
	client := &waiter{merchantID: d.shop.ID, result: accept.Result{PaymentID: posted.ID, Payment: posted}}
	for range presentMax {
		a.presenting <- struct{}{}
	}
	require.Equal(t, posted, a.present(t.Context(), client).Payment, "as it was committed")
	<-a.presenting
	require.Equal(t, payment.StatePending, a.present(t.Context(), client).Payment.State)
	require.Len(t, a.presenting, presentMax-1, "the place was given back")
}

func TestI3_AClientThatGoesAwayStopsWaiting(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	client, goAway := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	r := d.request(t, "k-1", order("INV-1", `"10.00"`)).WithContext(client)
	prefer("30")(r)
	go func() {
		_, err := d.client.Do(r) //nolint:bodyclose // there is none
		gone <- err
	}()
	awaitWaiting(t, d.waiting, 1)
	goAway()
	require.ErrorIs(t, <-gone, context.Canceled)
	awaitWaiting(t, d.waiting, 0)
}

func TestI3_AWaitOutlivesTheServersWriteTimeout(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	// A busy machine needs some of it to take the request in.
	const timeout = 5 * time.Second
	d.url = d.serve(t, func(s *http.Server) { s.ReadTimeout, s.WriteTimeout = timeout, timeout }).URL
	a := d.post(t, "k-1", order("INV-1", `"10.00"`), prefer("11"))
	require.Equal(t, http.StatusAccepted, a.status)
	require.Equal(t, "wait=11", a.header.Get("Preference-Applied"))
}

func TestI14_WhileTheDatabaseIsDownAClientWaitsOnAndHearsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	d := openDoor(t, database, openPool(t, url))
	// The short wait must not be over before the long one has begun.
	long := atDoor(func() answer { return d.post(t, "k-2", order("INV-2", `"10.00"`), prefer("30")) })
	awaitWaiting(t, d.waiting, 1)
	short := atDoor(func() answer { return d.post(t, "k-1", order("INV-1", `"10.00"`), prefer("5")) })
	awaitWaiting(t, d.waiting, 2)
	wire.setDown(true)
	a := <-short
	require.Equal(t, http.StatusAccepted, a.status)
	require.Equal(t, payment.StateCreated, a.view(t).State)
	require.Equal(t, "wait=5", a.header.Get("Preference-Applied"))

	wire.setDown(false)
	settle.Charge(t, d.App, d.paymentOf(t, "INV-2"), payment.VerdictCaptured)
	a = <-long
	require.Equal(t, http.StatusCreated, a.status)
	require.Equal(t, payment.StateCaptured, a.view(t).State)
}
