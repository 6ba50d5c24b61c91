package matrix_test

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider/conformance"
)

// wire is where the wire breaks. Each of the three questions (send, inquire, close
// the door) meets it once, at its first time; later ones meet a sound wire.
//
// A connection that is cut before any byte of the request came is not here: whether
// our bytes left is then a race within our own kernel, which the connectors'
// conformance suite runs and which ends in one of two rows of this table.
type wire struct {
	name    string
	arrives bool // a whole request reaches the provider
	honest  bool // the provider's own words come back in time
	late    bool // they come back after the lease
	says429 bool
	warm    bool // over a connection that has carried a request before
	timeout time.Duration
	// address returns where nobody is, instead of a server that breaks.
	address func(testing.TB) string
	secure  bool // asked over TLS
	breaks  func(*conformance.Conn, *exchange)
}

const (
	page = "text/html"
	json = "application/json"
	// silenceLimit is real time: what a silent server costs each question.
	silenceLimit = 400 * time.Millisecond
)

func wires() []wire {
	return []wire{
		{name: "sound", arrives: true, honest: true},
		{name: "connection refused", address: closedPort},
		{name: "no such host", address: func(testing.TB) string { return "http://" + strings.Repeat("x", 64) + ".invalid" }},
		{name: "TLS fails", secure: true, breaks: func(c *conformance.Conn, _ *exchange) { c.Write("HTTP/1.1 400 Bad Request\r\n\r\n") }},
		{name: "cut inside the request", breaks: func(c *conformance.Conn, _ *exchange) {
			if c.Started() {
				c.Reset()
			}
		}},
		{name: "cut after the request", arrives: true, breaks: handled(func(c *conformance.Conn, _ *exchange) { c.Reset() })},
		{name: "half-closed after it", arrives: true, breaks: handled(func(c *conformance.Conn, _ *exchange) {
			c.CloseWrite()
			c.Ended()
		})},
		{name: "reused, cut, no listener", arrives: true, warm: true, breaks: cutReused},
		{name: "cut inside the answer", arrives: true, breaks: handled(func(c *conformance.Conn, _ *exchange) {
			c.Write("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 160\r\n\r\n{\"id\":\"")
		})},
		{name: "silence", arrives: true, timeout: silenceLimit, breaks: handled(func(c *conformance.Conn, _ *exchange) { c.Ended() })},
		{name: "answer after the lease", arrives: true, late: true, breaks: answersLate},
		answers("502 page", http.StatusBadGateway, page, "<html>Bad Gateway</html>"),
		answers("503 page", http.StatusServiceUnavailable, page, "<html>Service Unavailable</html>"),
		answers("504 page", http.StatusGatewayTimeout, page, "<html>Gateway Timeout</html>"),
		says429(),
		answers("200 with a page", http.StatusOK, page, "<html>Please log in</html>"),
		answers("truncated JSON", http.StatusCreated, json, `{"id":"ch_1","status":"capt`),
		{name: "redirect", arrives: true, breaks: handled(func(c *conformance.Conn, x *exchange) {
			// Whoever follows it sends the request a second time.
			c.Write("HTTP/1.1 307 Temporary Redirect\r\nLocation: " + x.stage.sound + "/v1/charges\r\nContent-Length: 0\r\n\r\n")
			c.Ended()
		})},
	}
}

// handled reads the request, lets the provider do what it really does, and breaks
// then.
func handled(then func(*conformance.Conn, *exchange)) func(*conformance.Conn, *exchange) {
	return func(c *conformance.Conn, x *exchange) {
		if req, body, ok := c.Request(); ok {
			x.handle(req, body)
			then(c, x)
		}
	}
}

func answers(name string, status int, contentType, body string) wire {
	return wire{name: name, arrives: true, breaks: handled(func(c *conformance.Conn, _ *exchange) {
		c.Answer(status, contentType, body)
		c.Ended()
	})}
}

func says429() wire {
	body := `{"error":{"code":"too_many_requests","message":"nothing was taken"}}`
	return wire{name: "429 in its own words", arrives: true, says429: true, breaks: handled(func(c *conformance.Conn, _ *exchange) {
		c.Write(fmt.Sprintf("HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", json, len(body), body))
		c.Ended()
	})}
}

// cutReused answers the first request of the connection. Over the second one it
// cuts, with nobody listening any more: a client that repeats it by itself would
// report the repetition's "refused" as the request's own end.
func cutReused(c *conformance.Conn, x *exchange) {
	if _, _, ok := c.Request(); !ok {
		return
	}
	c.Answer(http.StatusOK, json, "{}")
	if req, body, ok := c.Request(); ok {
		x.server.StopListening()
		x.handle(req, body)
		c.Reset()
	}
}

// answersLate gives the provider's true answer once the lease is over. A question
// that moves nothing has no lease, and is answered at once.
func answersLate(c *conformance.Conn, x *exchange) {
	req, body, ok := c.Request()
	if !ok {
		return
	}
	answer := x.handle(req, body)
	if x.question == asksToSend {
		x.stage.moments.wait(afterLease)
		if answer == nil {
			answer = x.stage.deliver(req, body)
		}
	}
	c.Answer(answer.Code, json, answer.Body.String())
	c.Ended()
}

// closedPort returns an address that refuses connections until the test ends: its
// port is taken, so that no other test's server gets it, and nobody listens.
func closedPort(t testing.TB) string {
	t.Helper()
	socket, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Close(socket)) })
	require.NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	name, err := syscall.Getsockname(socket)
	require.NoError(t, err)
	return fmt.Sprintf("http://127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
}
