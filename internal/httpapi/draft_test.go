package httpapi

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/pkg/payment"
)

// readsNothing opens connections that ask again and again, and read nothing.
func (d *door) readsNothing(t *testing.T, conns int, request string) {
	t.Helper()
	for range conns {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(d.url, "http://"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		require.NoError(t, conn.(*net.TCPConn).SetReadBuffer(2048))
		_, err = conn.Write([]byte(strings.Repeat(request, 60)))
		require.NoError(t, err)
	}
}

func TestI13_WhoReadsTheDocumentSlowlyHoldsUpNoPayment(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := newAPI(d.config)
	d.handler = a.handler()
	d.url = d.serve(t, func(*http.Server) {}).URL
	d.readsNothing(t, 2*DocumentsMax, "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n")
	require.Eventually(t, func() bool { return len(a.documents) == DocumentsMax }, patience, time.Millisecond)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-1", order("INV-1", `"10.00"`)).status)
	require.Empty(t, a.inFlight)
}

// slowAnswer is an answer whose client does not read it before it is told to.
type slowAnswer struct {
	*httptest.ResponseRecorder
	began, reads chan struct{}
}

func (s slowAnswer) Write(some []byte) (int, error) {
	close(s.began)
	<-s.reads
	return s.ResponseRecorder.Write(some)
}

func TestI13_AnAnswerThatIsReadSlowlyHoldsNoPlaceAmongTheRequestsAtWork(t *testing.T) {
	t.Parallel()
	a := &api{Config: Config{Log: zap.NewNop()}, inFlight: make(chan struct{}, 1)}
	for name, handler := range map[string]http.Handler{
		"an answer": a.endpoint(func(w http.ResponseWriter, _ *http.Request) error {
			send(w, http.StatusOK, "application/json", []byte("{}"))
			return nil
		}),
		"a problem": a.endpoint(notFound),
	} {
		slow := slowAnswer{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			handler.ServeHTTP(slow, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		}()
		<-slow.began
		next := httptest.NewRecorder()
		handler.ServeHTTP(next, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		close(slow.reads)
		<-done
		require.NotEqual(t, http.StatusServiceUnavailable, next.Code, name)
		require.Equal(t, next.Code, slow.Code, name)
		require.Equal(t, next.Body.String(), slow.Body.String(), name)
	}
}

func TestI13_AMerchantsAnswersCountInItsShareUntilTheyAreWritten(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := newAPI(d.config)
	slow := slowAnswer{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/payments", nil)
	r.Header.Set("Authorization", "Bearer "+d.key)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.handler().ServeHTTP(slow, r)
	}()
	<-slow.began
	a.shares.mu.Lock()
	held := a.shares.held[d.shop.ID]
	a.shares.mu.Unlock()
	require.Equal(t, 1, held)
	require.Empty(t, a.inFlight)
	close(slow.reads)
	<-done
	require.Empty(t, a.shares.held)
}

func TestI2_WhatIsSaidAboutAPaymentStandsInNoProblem(t *testing.T) {
	t.Parallel()
	never := payment.View{CreatedAt: time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)} // no time of JSON's
	w := httptest.NewRecorder()
	err := sendResult(w, accept.Result{Outcome: accept.OutcomeReplayed, Payment: never})
	require.Error(t, err, fmt.Sprint(w.Code))
	require.Empty(t, w.Header())
}
