package matrix_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/reconcile"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// patience is real time that no sound exchange needs.
const patience = 60 * time.Second

// cell is one payment with an account, a worker and a reconciler of its own: what
// breaks for one opens no breaker of another.
type cell struct {
	story
	stage   *stage
	payment operation.NewPayment

	first      *worker.Worker // makes the first attempt, and may still wait for its answer
	rest       *worker.Worker
	reconciler *reconcile.Reconciler

	end       facts         // what became of it so far
	finalWhen time.Duration // after the claim; zero while it is open
}

func (c *cell) name() string { return c.wire.name + " / " + c.deed.name }

func newCell(t testing.TB, s *stage, told story, options ...fixture.Option) *cell {
	t.Helper()
	c := &cell{stage: s, story: told}
	account := fmt.Sprintf("account-%d", len(s.cells))
	c.payment = fixture.Accept(t, s.db.App, append(options, fixture.WithAccount(account), fixture.WithMethod(told.deed.token))...)
	accounts := map[string]provider.Connector{account: c.connector(t)}
	c.first, c.rest = s.worker(t, "first", accounts), s.worker(t, "rest", accounts)
	c.reconciler = &reconcile.Reconciler{Pool: s.db.App, Accounts: accounts, Publisher: s.publisher, Applier: s.applier, Log: s.log}
	s.cells = append(s.cells, c)
	return c
}

// question is what a provider is asked.
type question int

const (
	asksToSend question = iota
	asksWhatBecame
	asksToCloseTheDoor
	questions
)

// connector declares what the world says, and meets the broken wire once with each
// question.
type connector struct {
	provider.Connector // over a sound wire
	stage              *stage
	declared           provider.Capabilities
	warm               bool
	broken             [questions]provider.Connector // nil where nothing breaks
	used               [questions]atomic.Bool
}

func (c *cell) connector(t testing.TB) *connector {
	t.Helper()
	made := &connector{
		Connector: c.stage.connect(t, c.stage.sound, patience), stage: c.stage, declared: c.stage.world.declared, warm: c.wire.warm,
	}
	if c.wire.honest {
		return made
	}
	for q := range questions {
		timeout := c.wire.timeout
		if timeout == 0 {
			timeout = patience
		}
		made.broken[q] = c.stage.connect(t, c.brokenAddress(t, q), timeout)
	}
	return made
}

func (c *cell) brokenAddress(t testing.TB, q question) string {
	t.Helper()
	if c.wire.address != nil {
		return c.wire.address(t)
	}
	x := &exchange{cell: c, stage: c.stage, question: q}
	x.server = conformance.NewServer(t, func(conn *conformance.Conn) { c.wire.breaks(conn, x) })
	if c.wire.secure {
		return strings.Replace(x.server.URL(), "http://", "https://", 1)
	}
	return x.server.URL()
}

// Capabilities returns what the world declares.
func (c *connector) Capabilities() provider.Capabilities { return c.declared }

// Send, Inquire and CloseDoor ask over the wire of their turn.
func (c *connector) Send(ctx context.Context, op provider.Operation, stop provider.StopDeadline) provider.Answer {
	return c.over(ctx, asksToSend).Send(ctx, op, stop)
}

func (c *connector) Inquire(ctx context.Context, op provider.Operation) provider.Answer {
	return c.over(ctx, asksWhatBecame).Inquire(ctx, op)
}

func (c *connector) CloseDoor(ctx context.Context, op provider.Operation) provider.Answer {
	return c.over(ctx, asksToCloseTheDoor).CloseDoor(ctx, op)
}

func (c *connector) over(ctx context.Context, q question) provider.Connector {
	switch {
	case c.stage.down.Load():
		return c.stage.dead
	case c.broken[q] == nil || c.used[q].Swap(true):
		return c.Connector
	case c.warm:
		c.broken[q].Inquire(ctx, stranger())
	}
	return c.broken[q]
}

// stranger is an operation of nobody, to warm a connection with.
func stranger() provider.Operation {
	amount, err := money.New(1, "TRY")
	if err != nil {
		panic(err) // one kuruş is an amount
	}
	return provider.Operation{ID: uuid.New(), Kind: payment.KindCharge, Reference: "stranger", Amount: amount}
}

// connect returns a connector to the simulated provider that can ask everything;
// whether it is asked follows from what is declared. Keys are sent where the
// provider declares them.
func (s *stage) connect(t testing.TB, address string, timeout time.Duration) provider.Connector {
	t.Helper()
	variant := simulated.NoKeys
	if s.world.declared.Key.Supported {
		variant = simulated.Full
	}
	made, err := simulated.New(variant, address, simulated.Options{Timeout: timeout, Account: "acct"})
	require.NoError(t, err)
	t.Cleanup(made.Close)
	return made
}

// exchange is one broken server's part of a cell.
type exchange struct {
	cell     *cell
	stage    *stage
	question question
	server   *conformance.Server
}

// handle lets the provider do what it really does with the request, which may be
// later or never, and returns its answer, or nil when there is none now.
func (x *exchange) handle(req *http.Request, body string) *answer {
	if x.question != asksToSend {
		return x.stage.deliver(req, body)
	}
	switch x.cell.deed.when {
	case atOnce:
		return x.stage.deliver(req, body)
	case afterLease, afterGrace:
		if !x.cell.wire.late { // otherwise it is handled with its answer
			x.stage.moments.at(x.cell.deed.when, func() { x.stage.deliver(req, body) })
		}
	case never:
	}
	return nil
}
