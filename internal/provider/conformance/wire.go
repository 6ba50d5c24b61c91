package conformance

import (
	"context"
	"io"
	"log"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// notSent lists what ends before the first byte.
func (m movement) notSent(t *testing.T) {
	t.Parallel()
	t.Run("stop-deadline passed", m.stopPassed)
	t.Run("connection refused", func(t *testing.T) {
		t.Parallel()
		server := NewServer(t, func(*Conn) {})
		server.Close()
		m.requireNotSent(t, server.URL())
	})
	t.Run("no such host", func(t *testing.T) {
		t.Parallel()
		// A label of 64 bytes: every resolver refuses it without asking anyone.
		m.requireNotSent(t, "http://"+strings.Repeat("x", 64)+".invalid")
	})
	t.Run("TLS with a server that speaks none", func(t *testing.T) {
		t.Parallel()
		server := NewServer(t, func(c *Conn) { c.Write("HTTP/1.1 400 Bad Request\r\n\r\n") })
		m.requireNotSent(t, strings.Replace(server.URL(), "http://", "https://", 1))
	})
	t.Run("TLS with a certificate that no one vouches for", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			t.Error("a request arrived")
		}))
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		t.Cleanup(server.Close)
		m.requireNotSent(t, server.URL)
	})
	t.Run("context already over", func(t *testing.T) {
		t.Parallel()
		server := NewServer(t, func(c *Conn) { c.Ended() })
		over, cancel := context.WithCancel(t.Context())
		cancel()
		answer := m.New(t, server.URL(), patience).Send(over, m.operation(t), within(patience))
		server.Close()
		require.True(t, answer.NotSent, "%+v", answer)
		require.Zero(t, server.Arrivals())
	})
}

func (m movement) requireNotSent(t *testing.T, address string) {
	t.Helper()
	answer := send(t, m.New(t, address, patience), m.operation(t))
	require.True(t, answer.NotSent, "%+v", answer)
	require.Equal(t, payment.VerdictUnclear, answer.Verdict)
	require.Error(t, answer.Err, "the log needs a cause")
}

// stopPassed is a process that froze between its claim and its send: when it goes
// on, someone else may have the operation.
func (m movement) stopPassed(t *testing.T) {
	t.Parallel()
	server := NewServer(t, func(c *Conn) { c.Ended() })
	connector := m.New(t, server.URL(), patience)
	for name, stop := range map[string]provider.StopDeadline{
		"by both clocks":           within(-time.Millisecond),
		"by the wall clock":        within(patience).NotAfter(time.Now().Add(-time.Second)),
		"a deadline never decided": {},
	} {
		answer := connector.Send(t.Context(), m.operation(t), stop)
		require.True(t, answer.NotSent, "%s: %+v", name, answer)
		require.ErrorIs(t, answer.Err, provider.ErrStopDeadline, name)
	}
	server.Close()
	require.Zero(t, server.Accepted(), "it does not even connect")
}

// reusedConnections is where net/http repeats requests by itself. The first send
// warms the connection; the second is cut on it.
func (m movement) reusedConnections(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]func(*Server, *Conn){
		"reset, listener there":  func(_ *Server, c *Conn) { c.Reset() },
		"closed, listener there": func(*Server, *Conn) {},
		"reset, listener gone":   func(s *Server, c *Conn) { s.StopListening(); c.Reset() },
		"closed, listener gone":  func(s *Server, _ *Conn) { s.StopListening() },
		"cut inside the answer":  func(_ *Server, c *Conn) { c.Write("HTTP/1.1 201 Cre") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m.reusedConnection(t, cut)
		})
	}
}

func (m movement) reusedConnection(t *testing.T, cut func(*Server, *Conn)) {
	t.Helper()
	first, second := m.operation(t), m.operation(t)
	server := NewServer(t, func(c *Conn) {
		if req, body, ok := c.Request(); !ok || !mentions(req, body, first) {
			c.Answer(m.moved(second)) // a repetition on a new connection would look like a success
			return
		}
		c.Answer(m.moved(first))
		if _, _, ok := c.Request(); ok {
			cut(c.server, c)
		}
	})
	connector := m.New(t, server.URL(), patience)
	answer := send(t, connector, first)
	require.Equal(t, payment.VerdictCaptured, answer.Verdict, "%+v", answer)

	answer = send(t, connector, second)
	server.Close()
	require.Equal(t, 1, server.Accepted(), "the second send was to reuse the connection: a body not read to its end?")
	require.Equal(t, 2, server.Arrivals(), "one arrival for each send")
	require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%+v", answer)
	require.False(t, answer.NotSent, "it arrived")
}

// cancellation cancels sends at random moments around the first byte. What the
// connector calls "not sent" must not be among what arrived, also not later: the
// race is between us and net/http's own write loop.
func (m movement) cancellation(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	type request struct {
		*http.Request
		body string
	}
	var arrived []request
	server := NewServer(t, func(c *Conn) {
		for {
			req, body, ok := c.Request()
			if !ok {
				return
			}
			mu.Lock()
			arrived = append(arrived, request{req, body})
			mu.Unlock()
			c.Answer(http.StatusInternalServerError, json, "{}")
		}
	})
	connector := m.New(t, server.URL(), patience)
	var notSent []provider.Operation
	for range 400 {
		op := m.operation(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.Int64N(int64(400*time.Microsecond))))
		if connector.Send(ctx, op, within(patience)).NotSent {
			notSent = append(notSent, op)
		}
		cancel()
	}
	server.Close()
	for _, op := range notSent {
		require.False(t, slices.ContainsFunc(arrived, func(r request) bool { return mentions(r.Request, r.body, op) }),
			"said \"not sent\", and it arrived")
	}
}
