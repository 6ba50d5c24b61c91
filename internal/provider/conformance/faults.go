package conformance

import (
	"net/http"
	"strings"
	"time"
)

const (
	html = "text/html"
	json = "application/json"
)

// fault is one way in which a provider fails to answer. After each of them the
// outcome is unclear, whatever was asked.
type fault struct {
	name   string
	behave func(*Conn)
	// slow faults never end by themselves: the connector's time limit must.
	slow bool
}

// cuts end the connection at every point of a request and its answer.
var cuts = []fault{
	{name: "reset before the request is read", behave: func(c *Conn) { c.Reset() }},
	{name: "closed before the request is read", behave: func(*Conn) {}},
	{name: "reset inside the request", behave: func(c *Conn) {
		if c.Started() {
			c.Reset()
		}
	}},
	{name: "reset after the request", behave: after(func(c *Conn) { c.Reset() })},
	{name: "closed after the request", behave: after(func(*Conn) {})},
	{name: "half closed after the request", behave: after(func(c *Conn) { c.CloseWrite(); c.Ended() })},
	{name: "cut inside the status line", behave: answers("HTTP/1.1 20")},
	{name: "cut inside the header", behave: answers("HTTP/1.1 201 Created\r\nContent-Le")},
	{name: "cut after the header", behave: answers("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n")},
	{name: "cut inside the body", behave: answers("HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 90\r\n\r\n{\"id\":")},
	{name: "cut inside a chunk", behave: answers("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{\"id\":")},
	{name: "cut between chunks", behave: answers("HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n")},
	{name: "100 Continue and then cut", behave: answers("HTTP/1.1 100 Continue\r\n\r\n")},
	{name: "101 Switching Protocols", behave: answers("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")},
}

// silences never come to an end.
var silences = []fault{
	{name: "no answer", slow: true, behave: after(func(c *Conn) { c.Ended() })},
	{name: "100 Continue and no answer", slow: true, behave: after(func(c *Conn) {
		c.Write("HTTP/1.1 100 Continue\r\n\r\n")
		c.Ended()
	})},
	{name: "header and no body", slow: true, behave: after(func(c *Conn) {
		c.Write("HTTP/1.1 201 Created\r\nContent-Length: 90\r\n\r\n")
		c.Ended()
	})},
	{name: "half an answer, and then silence", slow: true, behave: after(func(c *Conn) {
		c.Write("HTTP/1.1 201 Created\r\nContent-Length: 90\r\n\r\n{\"id\":")
		c.Ended()
	})},
	{name: "an answer drop by drop", slow: true, behave: after(func(c *Conn) { c.drip() })},
}

// drip sends a whole answer so slowly that each byte comes well within any limit
// on silence, and the end beyond the limit on the call.
func (c *Conn) drip() {
	c.Write("HTTP/1.1 201 Created\r\nContent-Length: 10000\r\n\r\n")
	pace := time.NewTicker(10 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-pace.C:
		case <-c.server.done:
			return
		}
		if _, err := c.conn.Write([]byte(" ")); err != nil {
			return
		}
	}
}

// nonsense is complete and proves nothing.
var nonsense = []fault{
	{name: "garbage", behave: answers("\x00\x01\x02 this is not HTTP\r\n\r\n")},
	{name: "truncated JSON of the announced length", behave: whole(http.StatusCreated, json, `{"id":"x","status":"capt`)},
	{name: "a body of nothing", behave: whole(http.StatusCreated, json, "")},
	{name: "an empty object", behave: whole(http.StatusCreated, json, "{}")},
	{name: "null", behave: whole(http.StatusCreated, json, "null")},
	{name: "a list", behave: whole(http.StatusOK, json, "[]")},
	{name: "a number", behave: whole(http.StatusOK, json, "0")},
	{name: "an object of someone else", behave: whole(http.StatusOK, json, `{"status":"ok","result":null}`)},
	{name: "an error without a name", behave: whole(http.StatusUnprocessableEntity, json, `{"error":{}}`)},
	{name: "200 with a page", behave: whole(http.StatusOK, html, "<html>Please log in</html>")},
	{name: "204", behave: answers("HTTP/1.1 204 No Content\r\n\r\n")},
	{name: "an answer larger than any", behave: whole(http.StatusCreated, json, `{"id":"`+strings.Repeat("x", 2<<20)+`"}`)},
	{name: "a header larger than any", behave: answers("HTTP/1.1 201 Created\r\nX-Large: " + strings.Repeat("x", 1<<20) + "\r\n\r\n")},
}

// pages are what stands between a provider and us: the status looks like an
// answer, the body is not the provider's.
func pages() []fault {
	var all []fault
	for _, status := range []int{
		http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed, http.StatusRequestTimeout, http.StatusConflict, http.StatusGone,
		http.StatusUnprocessableEntity, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout, 520,
	} {
		name := "a gateway's page with status " + http.StatusText(status)
		if http.StatusText(status) == "" {
			name = "a page with a status that no one knows"
		}
		all = append(all, fault{name: name, behave: whole(status, html, "<html><h1>sorry</h1></html>")})
	}
	return all
}

func everyFault() []fault {
	var all []fault
	for _, group := range [][]fault{cuts, silences, nonsense, pages()} {
		all = append(all, group...)
	}
	return all
}

// after reads one whole request first.
func after(then func(*Conn)) func(*Conn) {
	return func(c *Conn) {
		if _, _, ok := c.Request(); ok {
			then(c)
		}
	}
}

// answers reads a request, sends raw bytes and closes.
func answers(raw string) func(*Conn) { return after(func(c *Conn) { c.Write(raw) }) }

// whole reads a request, answers it in full and counts whatever else comes.
func whole(status int, contentType, body string) func(*Conn) {
	return after(func(c *Conn) {
		c.Answer(status, contentType, body)
		c.Ended()
	})
}
