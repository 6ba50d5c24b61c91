package conformance

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// question is one of a connector's three.
type question func(testing.TB, provider.Connector, provider.Operation) provider.Answer

func send(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
	t.Helper()
	return c.Send(t.Context(), op, within(patience))
}

func inquire(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
	t.Helper()
	return c.Inquire(t.Context(), op)
}

func closeDoor(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
	t.Helper()
	return c.CloseDoor(t.Context(), op)
}

// questions are those that the connector declares to be able to ask about the kind.
// Only a charge has a door.
func (m movement) questions(c provider.Capabilities) map[string]question {
	all := map[string]question{"send": send}
	if c.Inquiry.Supported {
		all["inquire"] = inquire
	}
	if c.VoidByReference && m.kind == payment.KindCharge {
		all["close the door"] = closeDoor
	}
	return all
}

func (m movement) faultsAreUnclear(t *testing.T) {
	t.Parallel()
	declared := m.New(t, "http://127.0.0.1:1", patience).Capabilities()
	for name, ask := range m.questions(declared) {
		for _, f := range everyFault() {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				server := NewServer(t, f.behave)
				timeout := patience
				if f.slow {
					timeout = haste
				}
				answer := ask(t, m.New(t, server.URL(), timeout), m.operation(t))
				server.Close()
				require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%+v", answer)
				require.NotEmpty(t, answer.Reason)
				if answer.NotSent {
					require.Zero(t, server.Arrivals(), "said \"not sent\" of a request that arrived: %v", answer.Err)
				}
				if name != "inquire" { // net/http may repeat a GET, which moves nothing
					require.LessOrEqual(t, server.Arrivals(), 1)
				}
			})
		}
	}
}

// mustEcho gives the provider's own words, once as they should be and then each time
// with one thing wrong.
func (m movement) mustEcho(t *testing.T) {
	t.Parallel()
	t.Run("send", func(t *testing.T) {
		t.Parallel()
		for _, e := range echoes(t, m.operation(t)) {
			m.echoed(t, e, m.words.Moved, send)
		}
	})
	if m.words.Found == nil {
		return
	}
	t.Run("inquire", func(t *testing.T) {
		t.Parallel()
		for _, e := range echoes(t, m.operation(t)) {
			if m.words.Listed && e.reason == provider.ReasonReferenceMismatch {
				e.want, e.reason = payment.VerdictNotTaken, provider.ReasonNotFound
			}
			m.echoed(t, e, m.words.Found, inquire)
		}
	})
}

// echo is what the provider says of an operation, and what must follow.
type echo struct {
	name   string
	op     provider.Operation
	told   provider.Operation // as the provider has it
	want   payment.Verdict
	reason string
}

func echoes(t testing.TB, op provider.Operation) []echo {
	t.Helper()
	of := func(minor int64, currency money.Currency) provider.Operation {
		told := op
		told.Amount = amount(t, minor, currency)
		return told
	}
	minor, currency := op.Amount.Minor(), op.Amount.Currency()
	stranger := op
	stranger.Reference = "someone-elses"
	return []echo{
		{"as asked", op, op, payment.VerdictCaptured, ""},
		{"another amount", op, of(minor+1, currency), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"a hundredfold", op, of(minor*100, currency), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"another currency", op, of(minor, "EUR"), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"another reference", op, stranger, payment.VerdictUnclear, provider.ReasonReferenceMismatch},
	}
}

func (m movement) echoed(t *testing.T, e echo, words func(provider.Operation) (int, string), ask question) {
	t.Helper()
	status, body := words(e.told)
	server := NewServer(t, whole(status, json, body))
	answer := ask(t, m.New(t, server.URL(), patience), e.op)
	server.Close()
	require.Equal(t, e.want, answer.Verdict, "%s: %+v", e.name, answer)
	require.NotEmpty(t, answer.Hash, "%s: a whole answer is hashed for the evidence", e.name)
	require.Equal(t, e.reason, answer.Reason, e.name)
	if e.reason == provider.ReasonEchoMismatch {
		require.Equal(t, e.told.Amount, answer.Amount, "%s: the case needs what they said", e.name)
	}
}

func (m movement) redirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		op := m.operation(t)
		elsewhere := NewServer(t, whole(m.moved(op)))
		server := NewServer(t, after(func(c *Conn) {
			c.Write(fmt.Sprintf("HTTP/1.1 %d %s\r\nLocation: %s/v1/charges\r\nContent-Length: 0\r\n\r\n",
				status, http.StatusText(status), elsewhere.URL()))
			c.Ended()
		}))
		answer := send(t, m.New(t, server.URL(), patience), op)
		server.Close()
		elsewhere.Close()
		require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%d: %+v", status, answer)
		require.Equal(t, status, answer.Status, "the redirect is the answer")
		require.Equal(t, 1, server.Arrivals())
		require.Zero(t, elsewhere.Arrivals(), "a redirected POST is a second request")
	}
}

// moved is the whole good answer to an operation.
func (m movement) moved(op provider.Operation) (status int, contentType, body string) {
	status, body = m.words.Moved(op)
	return status, json, body
}

func (m movement) undeclared(t *testing.T) {
	t.Parallel()
	server := NewServer(t, func(c *Conn) { c.Ended() })
	connector := m.New(t, server.URL(), haste)
	declared := connector.Capabilities()
	require.NoError(t, declared.Validate())
	require.Empty(t, connector.Recipe(), "an account that nobody asked for is not known")
	if !declared.Inquiry.Supported {
		require.Equal(t, payment.VerdictUnclear, connector.Inquire(t.Context(), m.operation(t)).Verdict)
	}
	if !declared.VoidByReference {
		require.Equal(t, payment.VerdictUnclear, connector.CloseDoor(t.Context(), m.operation(t)).Verdict)
	}
	var empty provider.Operation
	answer := connector.Send(t.Context(), empty, within(time.Minute))
	require.True(t, answer.NotSent, "an operation that makes no request is not sent")
	server.Close()
	require.Zero(t, server.Accepted())
}

// preparation fails in every way in which a call can fail. Whatever happens to it,
// the attempt's money-moving request was not made, and nothing is sent for a charge
// whose object is not known.
func (m movement) preparation(t *testing.T) {
	t.Parallel()
	preparer, prepares := m.New(t, "http://127.0.0.1:1", patience).(provider.Preparer)
	connector, _ := preparer.(provider.Connector)
	if !prepares {
		require.Empty(t, m.Prepared)
		return
	}
	require.True(t, connector.Capabilities().Prepares, "who prepares declares it")
	for _, f := range everyFault() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			server := NewServer(t, f.behave)
			timeout := patience
			if f.slow {
				timeout = haste
			}
			failing, _ := m.New(t, server.URL(), timeout).(provider.Preparer)
			id, refused := failing.Prepare(t.Context(), m.unprepared(t), within(patience))
			server.Close()
			require.Empty(t, id)
			require.True(t, refused.NotSent, "%+v", refused)
			require.Equal(t, payment.VerdictUnclear, refused.Verdict, "%+v", refused)
			require.NotEmpty(t, refused.Reason)
			require.LessOrEqual(t, server.Arrivals(), 1, "a preparation is not repeated silently either")
		})
	}
	t.Run("without its object a charge is not sent", func(t *testing.T) {
		t.Parallel()
		server := NewServer(t, func(c *Conn) { c.Ended() })
		answer := send(t, m.New(t, server.URL(), patience), m.unprepared(t))
		server.Close()
		require.True(t, answer.NotSent)
		require.Zero(t, server.Accepted())
	})
}

func (m movement) unprepared(t testing.TB) provider.Operation {
	t.Helper()
	op := m.operation(t)
	op.ObjectID = ""
	return op
}
