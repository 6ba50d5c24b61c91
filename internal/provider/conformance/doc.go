// Package conformance is the suite that every connector passes.
//
//	connector's test ──Run──> connector ──> Server that misbehaves on the socket
//
// It tries each way in which a connection, an answer or a deadline can fail, and
// holds for all of them: a send arrives at most once; "not sent" is never said of
// a request of which a byte arrived; and nothing but the provider's own words about
// this very operation is an outcome.
package conformance

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Subject is a connector under test and, because only its author knows them, the
// provider's words.
type Subject struct {
	// New returns the connector to a provider at address, which gives up a call
	// after timeout.
	New func(t testing.TB, address string, timeout time.Duration) provider.Connector
	// Prepared is the id of the object that every charge of the suite acts on, where
	// the connector prepares one. Empty for connectors that do not.
	Prepared string
	// Captured returns the status and body with which the provider says that it
	// took the amount for the reference.
	Captured func(reference string, amount money.Amount) (status int, body string)
	// Found returns what an inquiry says about such a charge. Nil where the
	// connector has no inquiry.
	Found func(reference string, amount money.Amount) (status int, body string)
}

// The limits that the suite gives connectors: patience is never reached by a
// working exchange, haste is what a silent server costs.
const (
	patience = 20 * time.Second
	haste    = 250 * time.Millisecond
)

// Run holds the subject to the suite.
func Run(t *testing.T, s Subject) {
	t.Helper()
	t.Run("a fault never looks like an outcome", s.faultsAreUnclear)
	t.Run("an answer must echo what was asked", s.echo)
	t.Run("what was not sent is known", s.notSent)
	t.Run("no redirect is followed", s.redirects)
	t.Run("a reused connection repeats nothing", s.reusedConnections)
	t.Run("a cancelled send is truthful", s.cancellation)
	t.Run("a preparation moves nothing", s.preparation)
	t.Run("what is not declared is not done", s.undeclared)
}

// charge returns an operation of its own, prepared where the connector prepares.
func (s Subject) charge(t testing.TB) provider.Operation {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	return provider.Operation{
		ID: id, Kind: payment.KindCharge, Reference: id.String(), Amount: amount(t, 1000, "TRY"), PaymentMethod: "tok_conformance",
		ObjectID: s.Prepared,
	}
}

func amount(t testing.TB, minor int64, currency money.Currency) money.Amount {
	t.Helper()
	a, err := money.New(minor, currency)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// mentions reports whether a request is the operation's: its id is the key, and its
// reference is in the body where the connector writes it.
func mentions(req *http.Request, body string, op provider.Operation) bool {
	var text strings.Builder
	_ = req.Header.Write(&text) // a strings.Builder never fails
	return strings.Contains(text.String()+req.URL.String()+body, op.Reference)
}

// within returns a stop-deadline that a test does not reach.
func within(d time.Duration) provider.StopDeadline {
	return provider.NewStopDeadline(time.Now().Add(d))
}
