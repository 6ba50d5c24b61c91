package provider_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
)

func newClient(t *testing.T, secure *tls.Config) *http.Client {
	t.Helper()
	transport := provider.NewTransport(secure)
	t.Cleanup(transport.CloseIdleConnections)
	return provider.NewHTTPClient(transport)
}

func newPost(t *testing.T, address, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Idempotency-Key", "key")
	return req
}

func soon() provider.StopDeadline { return provider.NewStopDeadline(time.Now().Add(20 * time.Second)) }

// discard makes a request that the wire rules stop, and returns why.
func discard(t *testing.T, client *http.Client, req *http.Request) error {
	t.Helper()
	resp, err := client.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}

func TestTheWireRefusesWhatNetHTTPWouldRepeat(t *testing.T) {
	t.Parallel()
	server := conformance.NewServer(t, func(c *conformance.Conn) { c.Ended() })
	client := newClient(t, nil)
	for name, body := range map[string]io.Reader{
		"no body": nil, "NoBody": http.NoBody, "an empty body": strings.NewReader(""),
		"a body of unknown length": io.MultiReader(strings.NewReader("{}")),
	} {
		ctx, permit := provider.WithPermit(t.Context(), soon())
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL(), body)
		require.NoError(t, err)
		require.ErrorIs(t, discard(t, client, req), provider.ErrBodyMissing, name)
		require.True(t, permit.NotSent(), name)
	}
	require.ErrorIs(t, discard(t, client, newPost(t, server.URL(), "{}")), provider.ErrPermitMissing)
	server.Close()
	require.Zero(t, server.Accepted())
}

// An SDK that repeats a request by itself meets a spent permit.
func TestAPermitIsForOneRequest(t *testing.T) {
	t.Parallel()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		for {
			if _, _, ok := c.Request(); !ok {
				return
			}
			c.Answer(http.StatusBadGateway, "text/plain", "x")
		}
	})
	client := newClient(t, nil)
	ctx, permit := provider.WithPermit(t.Context(), soon())
	require.NoError(t, discard(t, client, newPost(t, server.URL(), "{}").WithContext(ctx)))
	require.ErrorIs(t, discard(t, client, newPost(t, server.URL(), "{}").WithContext(ctx)), provider.ErrPermitUsed)
	require.False(t, permit.NotSent())
	server.Close()
	require.Equal(t, 1, server.Arrivals())
}

// Whatever is still on its way to the wire when "not sent" is concluded must stay
// off it.
func TestOnceNotSentIsConcludedNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		if c.Started() {
			c.Reset()
		}
	})
	ctx, permit := provider.WithPermit(t.Context(), soon())
	require.True(t, permit.NotSent())
	require.ErrorIs(t, discard(t, newClient(t, nil), newPost(t, server.URL(), "{}").WithContext(ctx)), provider.ErrPermitRevoked)
	require.True(t, permit.NotSent())
	server.Close()
	require.Zero(t, server.Arrivals())
}

// The deadline can pass while the connection is being made. The server's handshake
// lasts until it has.
func TestNothingIsWrittenOnceTheStopDeadlineHasPassed(t *testing.T) {
	t.Parallel()
	stopAt := time.Now().Add(100 * time.Millisecond)
	passed, cancel := context.WithDeadline(t.Context(), stopAt)
	t.Cleanup(cancel)
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		<-passed.Done()
		return nil, nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	client := newClient(t, trusting(server))

	_, answer, ok := provider.Post(client, newPost(t, server.URL, "{}"), provider.NewStopDeadline(stopAt))
	require.False(t, ok)
	require.True(t, answer.NotSent, "%+v", answer)
	require.ErrorIs(t, answer.Err, provider.ErrStopDeadline)
	server.Close()
	require.Zero(t, requests.Load())
}

func trusting(server *httptest.Server) *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

func TestHTTPSIsHTTP11AndKeepsItsConnection(t *testing.T) {
	t.Parallel()
	var addresses []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addresses = append(addresses, r.RemoteAddr)
		_, _ = fmt.Fprint(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	client := newClient(t, trusting(server))
	for range 2 {
		reply, answer, ok := provider.Post(client, newPost(t, server.URL, "{}"), soon())
		require.True(t, ok, "%+v", answer)
		require.Equal(t, "HTTP/1.1", string(reply.Body))
	}
	require.Equal(t, addresses[0], addresses[1])
}

// A write deadline belongs to one request: the next one on the connection, which
// has another or none, must not run into it.
func TestAStopDeadlineDoesNotOutliveItsRequest(t *testing.T) {
	t.Parallel()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		for {
			if _, _, ok := c.Request(); !ok {
				return
			}
			c.Answer(http.StatusOK, "text/plain", "x")
		}
	})
	client := newClient(t, nil)
	stopAt := time.Now().Add(2 * time.Second)
	_, answer, ok := provider.Post(client, newPost(t, server.URL(), "{}"), provider.NewStopDeadline(stopAt))
	require.True(t, ok, "%+v", answer)
	passed, cancel := context.WithDeadline(t.Context(), stopAt.Add(10*time.Millisecond))
	defer cancel()
	<-passed.Done()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL(), nil)
	require.NoError(t, err)
	_, answer, ok = provider.Get(client, req)
	require.True(t, ok, "%+v", answer)
	_, answer, ok = provider.Post(client, newPost(t, server.URL(), "{}"), soon())
	require.True(t, ok, "%+v", answer)
	require.Equal(t, 1, server.Accepted(), "all on one connection")
}

// The server reads the first bytes and nothing else, until the buffers are full and
// the deadline cuts the request in the middle. What the kernel still holds of it
// then must not be delivered when the server, or the network, wakes up again.
func TestADeadlineInsideTheRequestIsUnclearAndDropsTheRest(t *testing.T) {
	t.Parallel()
	const size = 64 << 20 // beyond what the buffers of a loopback connection hold
	gaveUp, ended := make(chan struct{}), make(chan error, 1)
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		if c.Started() {
			<-gaveUp
			ended <- c.Drain()
		}
	})
	client := newClient(t, nil)
	ctx, permit := provider.WithPermit(t.Context(), provider.NewStopDeadline(time.Now().Add(2*time.Second)))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL(), io.LimitReader(zeros{}, size))
	require.NoError(t, err)
	req.ContentLength = size
	err = discard(t, client, req)
	close(gaveUp)
	require.Error(t, err)
	require.False(t, permit.NotSent(), "the header is out: %v", err)
	var timeout net.Error
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout(), "%v", err)
	require.ErrorIs(t, <-ended, syscall.ECONNRESET, "dropped, not delivered to the end")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestAnAnswerWithoutBoundsIsNotRead(t *testing.T) {
	t.Parallel()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		if _, _, ok := c.Request(); ok {
			c.Answer(http.StatusOK, "text/plain", strings.Repeat("x", provider.AnswerBytesMax+1))
		}
	})
	_, answer, ok := provider.Post(newClient(t, nil), newPost(t, server.URL(), "{}"), soon())
	require.False(t, ok)
	require.False(t, answer.NotSent)
	require.ErrorIs(t, answer.Err, provider.ErrAnswerTooLarge)
}

func TestTheEarlierOfTwoClocksCounts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.True(t, provider.StopDeadline{}.Passed(now), "a forgotten deadline allows nothing")
	require.True(t, provider.NewStopDeadline(time.Time{}).Passed(now))
	require.False(t, provider.NewStopDeadline(now.Add(time.Second)).Passed(now))
	require.True(t, provider.NewStopDeadline(now).Passed(now), "at the deadline it has passed")

	stop := provider.NewStopDeadline(now.Add(time.Minute))
	require.Equal(t, time.Minute, stop.NotAfter(time.Time{}).Remaining(now), "no chargeBefore changes nothing")
	require.Equal(t, time.Minute, stop.NotAfter(now.Add(time.Hour)).Remaining(now), "a deadline never moves back")
	require.InDelta(t, time.Second, stop.NotAfter(now.Add(time.Second)).Remaining(now), float64(time.Microsecond))

	// The machine slept: its monotonic clock stood still, the wall clock went on.
	asleep := now.Round(0).Add(2 * time.Minute)
	require.True(t, stop.Passed(asleep), "the wall clock says so")
}

func TestW4_TryLaterIsNotTakenOnlyWhereDeclaredAndInTheProvidersOwnWords(t *testing.T) {
	t.Parallel()
	declares := provider.Capabilities{NotTakenStatuses: []int{429}}
	header := http.Header{"Retry-After": {"7"}}
	answer := provider.Reply{Status: 429, Header: header}.TryLater(declares, true)
	require.Equal(t, "not_taken", answer.Verdict.String())
	require.Equal(t, 7*time.Second, answer.RetryAfter)
	for name, unclear := range map[string]provider.Answer{
		"a gateway's page": provider.Reply{Status: 429, Header: header}.TryLater(declares, false),
		"not declared":     provider.Reply{Status: 503, Header: header}.TryLater(declares, true),
	} {
		require.Equal(t, "unclear", unclear.Verdict.String(), name)
	}
	header.Set("Retry-After", "999999999")
	require.Equal(t, provider.RetryAfterMax, provider.Reply{Status: 429, Header: header}.TryLater(declares, true).RetryAfter)
	header.Set("Retry-After", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat))
	require.Zero(t, provider.Reply{Status: 429, Header: header}.TryLater(declares, true).RetryAfter)
}
