// Package conformance is the suite that every connector passes.
//
//	connector's test ──Run──> connector ──> Server that misbehaves on the socket
//
// It tries each way in which a connection, an answer or a deadline can fail, on each
// kind of movement that the connector declares. It holds for all of them: a send
// arrives at most once; "not sent" is never said of a request of which a byte arrived;
// and nothing but the provider's own words about this very operation is an outcome.
package conformance

import (
	"cmp"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

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
	// Words are the provider's about each kind of movement that the connector declares:
	// charges, and refunds and voids where it has them.
	Words map[payment.Kind]Words
}

// Words say that a movement took place, with the operation's reference, its amount
// and, where the provider names it, the object that the operation acts on.
type Words struct {
	// Moved is the answer to the request that moved the money.
	Moved func(op provider.Operation) (status int, body string)
	// Found is the answer to an inquiry. Nil where the connector has none.
	Found func(op provider.Operation) (status int, body string)
	// Listed means that the inquiry reads a list, such as all refunds of a charge, in
	// which others may stand: a list without ours says that it was not found.
	Listed bool
}

// The limits that the suite gives connectors: patience is never reached by a
// working exchange, haste is what a silent server costs.
const (
	patience = 20 * time.Second
	haste    = 250 * time.Millisecond
)

// Run holds the subject to the suite, each kind of movement that it declares.
func Run(t *testing.T, s Subject) {
	t.Helper()
	declared := s.New(t, "http://127.0.0.1:1", patience).Capabilities()
	for _, kind := range kinds(declared) {
		m := movement{Subject: s, kind: kind, words: s.Words[kind]}
		require.NotNil(t, m.words.Moved, "%ss are declared, so their words are needed", kind)
		require.Equal(t, declared.Inquiry.Supported, m.words.Found != nil, "a %s is found by whoever inquires", kind)
		t.Run(string(kind), m.run)
	}
	t.Run("a preparation moves nothing", movement{Subject: s, kind: payment.KindCharge}.preparation)
	t.Run("what is not declared is not done", movement{Subject: s, kind: payment.KindCharge}.undeclared)
}

func kinds(c provider.Capabilities) []payment.Kind {
	all := []payment.Kind{payment.KindCharge}
	if c.Refunds {
		all = append(all, payment.KindRefund)
	}
	if c.Voids {
		all = append(all, payment.KindVoid)
	}
	return all
}

// movement is one kind of what the subject moves.
type movement struct {
	Subject

	kind  payment.Kind
	words Words
}

func (m movement) run(t *testing.T) {
	t.Run("a fault never looks like an outcome", m.faultsAreUnclear)
	t.Run("an answer must echo what was asked", m.mustEcho)
	t.Run("what was not sent is known", m.notSent)
	t.Run("no redirect is followed", m.redirects)
	t.Run("a reused connection repeats nothing", m.reusedConnections)
	t.Run("a cancelled send is truthful", m.cancellation)
}

// charged is the charge that refunds and voids act on, where no object is prepared.
const charged = "charged_conformance"

// operation returns one of its own. It acts on the prepared object where the connector
// prepares: a charge is sent with it, and what gives money back names it.
func (m movement) operation(t testing.TB) provider.Operation {
	t.Helper()
	id, err := uuid.NewV7()
	if err != nil {
		t.Fatal(err)
	}
	op := provider.Operation{ID: id, Kind: m.kind, Reference: id.String(), Amount: amount(t, 1000, "TRY"), ObjectID: m.Prepared}
	if m.kind == payment.KindCharge {
		op.PaymentMethod = "tok_conformance"
	} else {
		op.ObjectID = cmp.Or(m.Prepared, charged)
	}
	return op
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
