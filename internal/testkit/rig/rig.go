// Package rig puts a worker, a reconciler and the simulated provider on a test's
// database, and tells when payments get where a test expects them.
package rig

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/reconcile"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// Patience bounds how long a test waits for a payment. It is far beyond what is
// needed, because it only matters when the test fails.
const Patience = 60 * time.Second

// Options shape a rig.
type Options struct {
	// Connector is the connector's name for fixture.Account; default simulated.
	Connector string
	// Provider, if given, stands in for the simulated provider, with the Key that it
	// takes. The rig then has no Sim.
	Provider http.Handler
	Key      string
	// Address, if given, is where the test runs the provider by itself, which must
	// answer by then. The rig then has no Sim either.
	Address string
	Faults  pspsim.Faults
	// Timeout of one provider call; default 2 s. Lease; default 2.5 s
	// more than the calls of one attempt may take.
	Timeout, Lease time.Duration
	// Grace of the connector's inquiries; default the connector's own.
	Grace time.Duration
	Slots int
	Pace  worker.Pace
}

// Rig is one account's worker and reconciler, not started.
type Rig struct {
	DB         *testkit.Database
	Sim        *pspsim.Server
	URL        string // of the simulated provider
	Connector  provider.Connector
	Publisher  outcome.Publisher
	Applier    *outcome.Applier
	Worker     *worker.Worker
	Reconciler *reconcile.Reconciler

	t testing.TB
}

// New builds a rig whose applier runs until the test ends.
func New(t testing.TB, o Options) *Rig {
	t.Helper()
	r := &Rig{DB: testkit.NewDatabase(t), t: t}
	r.URL = o.Address
	if r.URL == "" {
		r.serve(o)
	}
	r.build(o)
	return r
}

func (r *Rig) serve(o Options) {
	r.t.Helper()
	if o.Provider == nil {
		o.Provider = r.simulate(o.Faults)
	}
	server := httptest.NewServer(o.Provider)
	r.t.Cleanup(server.Close)
	r.URL = server.URL
}

func (r *Rig) simulate(f pspsim.Faults) http.Handler {
	r.t.Helper()
	var err error
	r.Sim, err = pspsim.New(pspsim.Options{Seed: 1, Faults: f})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, r.Sim.Close()) })
	return r.Sim
}

func (r *Rig) build(o Options) {
	r.t.Helper()
	if o.Connector == "" {
		o.Connector = "simulated"
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	var err error
	r.Connector, err = connectors.New(o.Connector, connectors.Options{Address: r.URL, Key: o.Key, Timeout: o.Timeout, Grace: o.Grace})
	require.NoError(r.t, err)
	require.NoError(r.t, r.Connector.Identify(r.t.Context()))
	if o.Lease == 0 {
		o.Lease = r.Connector.Capabilities().AttemptTimeout() + worker.SendAllowance + 500*time.Millisecond
	}
	accounts := map[string]provider.Connector{fixture.Account: r.Connector}
	log := zaptest.NewLogger(r.t)
	r.Publisher = outcome.Publisher{Topic: event.TopicsWithPrefix("payonce").Events, Source: fixture.Source}
	r.Applier = outcome.NewApplier(r.DB.App, r.Publisher)
	r.background(r.Applier.Run)
	r.Worker, err = worker.New(worker.Config{Name: "worker-1", Accounts: accounts, Lease: o.Lease, Slots: o.Slots, Pace: o.Pace}, r.DB.App, r.Applier, log)
	require.NoError(r.t, err)
	r.Reconciler = &reconcile.Reconciler{Pool: r.DB.App, Accounts: accounts, Publisher: r.Publisher, Applier: r.Applier, Log: log}
}

// WithProvider returns another worker of the rig's database and account that
// sends to another address, which it takes for the same account. It is not started.
func (r *Rig) WithProvider(url string) *worker.Worker {
	r.t.Helper()
	connector, err := connectors.New(r.Connector.Name(), connectors.Options{
		Address: url, Account: pspsim.AccountDefault, Timeout: r.Connector.Capabilities().Timeout,
	})
	require.NoError(r.t, err)
	w, err := worker.New(worker.Config{
		Name: "worker-2", Accounts: map[string]provider.Connector{fixture.Account: connector},
		Lease: connector.Capabilities().Timeout + worker.SendAllowance + 500*time.Millisecond,
	}, r.DB.App, r.Applier, zaptest.NewLogger(r.t))
	require.NoError(r.t, err)
	return w
}

// StartScheduler runs the worker's due list until the test ends.
func (r *Rig) StartScheduler() { r.background(r.Worker.Schedule) }

// StartReconciler runs the reconciler until the test ends.
func (r *Rig) StartReconciler() { r.background(r.Reconciler.Run) }

// StartConsumer runs the worker's consumer until the test ends, with options of its
// connection.
func (r *Rig) StartConsumer(b testkit.Broker, options ...kgo.Opt) {
	r.background(func(ctx context.Context) {
		if err := r.Worker.Consume(ctx, r.DB.App, worker.Feed{Brokers: b.Addrs, Topics: b.Topics, Options: options}); err != nil {
			r.t.Errorf("consumer: %v", err)
		}
	})
}

// background stops a part, and waits for it, before what it uses goes away.
func (r *Rig) background(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	r.t.Cleanup(func() {
		if r.Worker != nil {
			drain, stop := context.WithTimeout(context.Background(), Patience)
			defer stop()
			if err := r.Worker.Drain(drain); err != nil {
				r.t.Errorf("draining: %v", err)
			}
		}
		cancel()
		<-done
	})
}

// DueNow makes operations due at once, as if MessageGrace had passed.
func (r *Rig) DueNow(payments ...operation.NewPayment) {
	r.t.Helper()
	_, err := r.DB.App.Exec(r.t.Context(), "UPDATE operation SET next_attempt_at = payonce_now() WHERE id = ANY ($1) AND state = 'created'",
		operationIDs(payments))
	require.NoError(r.t, err)
}

// AwaitState waits until every payment shows one of the states.
func (r *Rig) AwaitState(payments []operation.NewPayment, states ...payment.State) {
	r.t.Helper()
	ids := make([]uuid.UUID, len(payments))
	for i, p := range payments {
		ids[i] = p.PaymentID
	}
	r.awaitNone("SELECT count(*) FROM payment WHERE id = ANY ($1) AND state <> ALL ($2)", ids, states)
}

// AwaitOperations waits until every operation is in one of the states. Of a refund, a
// payment has no state.
func (r *Rig) AwaitOperations(operations []operation.NewPayment, states ...payment.OperationState) {
	r.t.Helper()
	r.awaitNone("SELECT count(*) FROM operation WHERE id = ANY ($1) AND state <> ALL ($2)", operationIDs(operations), states)
}

// awaitNone waits until the query counts none of the ids outside of the states.
func (r *Rig) awaitNone(elsewhere string, ids []uuid.UUID, states any) {
	r.t.Helper()
	require.Eventually(r.t, func() bool { return r.Count(elsewhere, ids, states) == 0 },
		Patience, 10*time.Millisecond, "they did not all become %v: %s", states, described{r})
}

func operationIDs(operations []operation.NewPayment) []uuid.UUID {
	ids := make([]uuid.UUID, len(operations))
	for i, o := range operations {
		ids[i] = o.OperationID
	}
	return ids
}

// described reads the operations when it is printed, which is after the wait.
type described struct{ r *Rig }

func (d described) String() string {
	rows, err := d.r.DB.App.Query(context.Background(),
		"SELECT format('%s %s %s fence %s', id, state, reason, fence) FROM operation ORDER BY id LIMIT 20")
	if err != nil {
		return err.Error()
	}
	defer rows.Close()
	var text strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return err.Error()
		}
		text.WriteString("\n" + line)
	}
	return text.String()
}

// Charged returns how often the provider charged the operation and how many
// requests for it arrived.
func (r *Rig) Charged(p operation.NewPayment) (charged, sends int) {
	counts := r.Sim.Oracle().References[p.OperationID.String()]
	return counts.Charged - counts.Voided, counts.Sends
}

// Operation reads what a test wants to know about an operation's row.
func (r *Rig) Operation(p operation.NewPayment) (state payment.OperationState, fence int64, reason string) {
	r.t.Helper()
	err := r.DB.App.QueryRow(r.t.Context(), "SELECT state, fence, coalesce(reason, '') FROM operation WHERE id = $1", p.OperationID).
		Scan(&state, &fence, &reason)
	require.NoError(r.t, err)
	return state, fence, reason
}

// Count runs a counting query.
func (r *Rig) Count(sql string, args ...any) int {
	r.t.Helper()
	var n int
	require.NoError(r.t, r.DB.App.QueryRow(r.t.Context(), sql, args...).Scan(&n))
	return n
}
