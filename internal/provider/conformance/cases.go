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

// call is one of a connector's three questions.
type call struct {
	name string
	make func(testing.TB, provider.Connector, provider.Operation) provider.Answer
}

func send(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
	t.Helper()
	return c.Send(t.Context(), op, within(patience))
}

// calls returns the questions that the connector declares to be able to ask.
func calls(c provider.Capabilities) []call {
	all := []call{{"send", send}}
	if c.Inquiry.Supported {
		all = append(all, call{"inquire", func(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
			t.Helper()
			return c.Inquire(t.Context(), op)
		}})
	}
	if c.VoidByReference {
		all = append(all, call{"close the door", func(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
			t.Helper()
			return c.CloseDoor(t.Context(), op)
		}})
	}
	return all
}

func (s Subject) faultsAreUnclear(t *testing.T) {
	t.Parallel()
	declared := s.New(t, "http://127.0.0.1:1", patience).Capabilities()
	for _, ask := range calls(declared) {
		for _, f := range everyFault() {
			t.Run(ask.name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				server := NewServer(t, f.behave)
				timeout := patience
				if f.slow {
					timeout = haste
				}
				answer := ask.make(t, s.New(t, server.URL(), timeout), s.charge(t))
				server.Close()
				require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%+v", answer)
				require.NotEmpty(t, answer.Reason)
				if answer.NotSent {
					require.Zero(t, server.Arrivals(), "said \"not sent\" of a request that arrived: %v", answer.Err)
				}
				if ask.name != "inquire" { // net/http may repeat a GET, which moves nothing
					require.LessOrEqual(t, server.Arrivals(), 1)
				}
			})
		}
	}
}

// echo gives the provider's own words, once as they should be and then each time
// with one thing wrong.
func (s Subject) echo(t *testing.T) {
	t.Parallel()
	t.Run("send", func(t *testing.T) {
		t.Parallel()
		s.echoes(t, s.Captured, send)
	})
	if s.Found != nil {
		t.Run("inquire", func(t *testing.T) {
			t.Parallel()
			s.echoes(t, s.Found, func(t testing.TB, c provider.Connector, op provider.Operation) provider.Answer {
				t.Helper()
				return c.Inquire(t.Context(), op)
			})
		})
	}
}

func (s Subject) echoes(t *testing.T, words func(string, money.Amount) (int, string),
	ask func(testing.TB, provider.Connector, provider.Operation) provider.Answer,
) {
	t.Helper()
	op := s.charge(t)
	for _, c := range []struct {
		name      string
		reference string
		amount    money.Amount
		want      payment.Verdict
		reason    string
	}{
		{"as asked", op.Reference, op.Amount, payment.VerdictCaptured, ""},
		{"another amount", op.Reference, amount(t, op.Amount.Minor()+1, op.Amount.Currency()), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"a hundredfold", op.Reference, amount(t, op.Amount.Minor()*100, op.Amount.Currency()), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"another currency", op.Reference, amount(t, op.Amount.Minor(), "EUR"), payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{"another reference", "someone-elses", op.Amount, payment.VerdictUnclear, provider.ReasonReferenceMismatch},
	} {
		status, body := words(c.reference, c.amount)
		server := NewServer(t, whole(status, json, body))
		answer := ask(t, s.New(t, server.URL(), patience), op)
		require.Equal(t, c.want, answer.Verdict, "%s: %+v", c.name, answer)
		require.NotEmpty(t, answer.Hash, "%s: a whole answer is hashed for the evidence", c.name)
		if c.reason != "" {
			require.Equal(t, c.reason, answer.Reason, c.name)
		}
		if c.reason == provider.ReasonEchoMismatch {
			require.Equal(t, c.amount, answer.Amount, "%s: the case needs what they said", c.name)
		}
		server.Close()
	}
}

func (s Subject) redirects(t *testing.T) {
	t.Parallel()
	for _, status := range []int{
		http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect,
	} {
		op := s.charge(t)
		elsewhere := NewServer(t, whole(s.captured(op)))
		server := NewServer(t, after(func(c *Conn) {
			c.Write(fmt.Sprintf("HTTP/1.1 %d %s\r\nLocation: %s/v1/charges\r\nContent-Length: 0\r\n\r\n",
				status, http.StatusText(status), elsewhere.URL()))
			c.Ended()
		}))
		answer := send(t, s.New(t, server.URL(), patience), op)
		server.Close()
		elsewhere.Close()
		require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%d: %+v", status, answer)
		require.Equal(t, status, answer.Status, "the redirect is the answer")
		require.Equal(t, 1, server.Arrivals())
		require.Zero(t, elsewhere.Arrivals(), "a redirected POST is a second request")
	}
}

// captured is the whole good answer to an operation.
func (s Subject) captured(op provider.Operation) (status int, contentType, body string) {
	status, body = s.Captured(op.Reference, op.Amount)
	return status, json, body
}

func (s Subject) undeclared(t *testing.T) {
	t.Parallel()
	server := NewServer(t, func(c *Conn) { c.Ended() })
	connector := s.New(t, server.URL(), haste)
	declared := connector.Capabilities()
	require.NoError(t, declared.Validate())
	require.Empty(t, connector.Recipe(), "an account that nobody asked for is not known")
	if !declared.Inquiry.Supported {
		require.Equal(t, payment.VerdictUnclear, connector.Inquire(t.Context(), s.charge(t)).Verdict)
	}
	if !declared.VoidByReference {
		require.Equal(t, payment.VerdictUnclear, connector.CloseDoor(t.Context(), s.charge(t)).Verdict)
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
func (s Subject) preparation(t *testing.T) {
	t.Parallel()
	preparer, prepares := s.New(t, "http://127.0.0.1:1", patience).(provider.Preparer)
	connector, _ := preparer.(provider.Connector)
	if !prepares {
		require.Empty(t, s.Prepared)
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
			failing, _ := s.New(t, server.URL(), timeout).(provider.Preparer)
			id, refused := failing.Prepare(t.Context(), s.unprepared(t), within(patience))
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
		answer := send(t, s.New(t, server.URL(), patience), s.unprepared(t))
		server.Close()
		require.True(t, answer.NotSent)
		require.Zero(t, server.Accepted())
	})
}

func (s Subject) unprepared(t testing.TB) provider.Operation {
	t.Helper()
	op := s.charge(t)
	op.ObjectID = ""
	return op
}
