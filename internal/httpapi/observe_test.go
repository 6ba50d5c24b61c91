package httpapi

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/testkit"
)

func TestI19_NoLogLineHoldsAKeyATokenOrABody(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	d := openDoor(t, database, openPool(t, url))
	secrets := []string{token, strings.Split(d.key, "_")[2], "INV-1", "k-secret", "424242"}
	for _, c := range refusedCases() {
		if c.change == nil {
			d.post(t, "k-secret", c.body)
		}
	}
	d.post(t, "k-secret", order("INV-1", "10.00"))
	d.post(t, "k-secret", order("INV-1", "11.00"))
	d.post(t, "k-secret-2", order("INV-1", "10.00"))
	d.get(t, "/v1/payments/4242424242424242", d.key)
	d.get(t, "/4242424242424242?k-secret", d.key)
	wire.setDown(true)
	d.post(t, "k-secret", order("INV-1", "10.00")).requireUnavailable(t)

	require.NotEmpty(t, d.logs.All())
	warned := false
	for _, entry := range d.logs.All() {
		line := fmt.Sprint(entry.Message, entry.ContextMap())
		for _, secret := range secrets {
			require.NotContains(t, line, secret)
		}
		warned = warned || entry.Level == zapcore.WarnLevel
		if entry.Level == zapcore.InfoLevel {
			t.Errorf("a request is no news: %s", line)
		}
	}
	require.True(t, warned, "an outage is")
}

func TestAPanicIsAnAnswerAndALineWithoutTheRequest(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zapcore.DebugLevel)
	a := &api{Config: Config{Log: zap.New(core)}}
	mux := http.NewServeMux()
	mux.HandleFunc("/value", func(http.ResponseWriter, *http.Request) { panic("body with " + token) })
	mux.HandleFunc("/fault", func(_ http.ResponseWriter, r *http.Request) { _ = r.TLS.Version })
	mux.HandleFunc("/half", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte("half an ans"))
		panic("late")
	})
	server := httptest.NewServer(a.observed(mux))
	defer server.Close()
	for _, path := range []string{"/value", "/fault"} {
		response, err := server.Client().Get(server.URL + path)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, http.StatusInternalServerError, response.StatusCode)
		require.Contains(t, string(body), "urn:payonce:problem:internal-error")
		require.NotContains(t, string(body), token)
	}
	response, err := server.Client().Post(server.URL+"/half", "", nil) // a GET would be sent again
	if err == nil {
		_, err = io.ReadAll(response.Body)
		require.NoError(t, response.Body.Close())
	}
	require.Error(t, err, "half an answer does not look whole")
	var said []string
	for _, entry := range logs.FilterMessage("request panicked").All() {
		said = append(said, entry.ContextMap()["panic"].(string))
		require.NotContains(t, fmt.Sprint(entry.ContextMap()), token)
		require.Contains(t, entry.ContextMap()["stack"], "observe_test.go")
	}
	require.Equal(t, []string{"a string", "runtime error: invalid memory address or nil pointer dereference", "a string"}, said)
}

func TestI13_ASlowBodyIsGivenUp(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	server := d.serve(t, func(s *http.Server) { s.ReadTimeout = 100 * time.Millisecond })
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer connection.Close()
	fmt.Fprintf(connection, "POST /v1/payments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nIdempotency-Key: k\r\nContent-Length: 100\r\n\r\n{", d.key)
	said, err := io.ReadAll(connection)
	require.NoError(t, err)
	require.Contains(t, string(said), "HTTP/1.1 408 ")
	require.Contains(t, string(said), "urn:payonce:problem:body-too-slow")
	require.Contains(t, string(said), "Connection: close", "the rest of the body is not a new request")
	require.Equal(t, payments(0), d.stored(t))
}

func TestTheServersBoundsFitEachOther(t *testing.T) {
	t.Parallel()
	server, err := NewServer(http.NotFoundHandler(), zap.NewNop())
	require.NoError(t, err)
	require.Positive(t, server.ReadHeaderTimeout)
	require.Greater(t, server.ReadTimeout, server.ReadHeaderTimeout)
	require.Greater(t, server.WriteTimeout, server.ReadTimeout+RequestWaitMax)
	require.Positive(t, server.IdleTimeout)
	require.Equal(t, MaxHeaderBytes, server.MaxHeaderBytes)
}

func TestRequestsBeyondTheBoundAreTurnedAway(t *testing.T) {
	t.Parallel()
	a := &api{Config: Config{Log: zap.NewNop()}, inFlight: make(chan struct{}, 1)}
	entered, leave := make(chan struct{}), make(chan struct{})
	handler := a.endpoint(func(w http.ResponseWriter, _ *http.Request) error {
		close(entered)
		<-leave
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
	first := httptest.NewRecorder()
	done := make(chan struct{})
	go func() {
		defer close(done)
		handler.ServeHTTP(first, httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	<-entered
	second := httptest.NewRecorder()
	handler.ServeHTTP(second, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, http.StatusServiceUnavailable, second.Code)
	require.Equal(t, "1", second.Header().Get("Retry-After"))
	require.Contains(t, second.Body.String(), "urn:payonce:problem:overloaded")
	close(leave)
	<-done
	require.Equal(t, http.StatusNoContent, first.Code)
}
