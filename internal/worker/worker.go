// Package worker sends operations to providers.
//
//	Kafka, due list ──claim──> attempt ──one request──> provider
//	                                         └──answer──> outcome
//
// Its promise: one attempt is one request, sent only after the attempt row has
// committed, only while the sender's own deadline holds, and only by the worker
// that holds the operation's fence. What came of it is told to outcome until it is
// stored, for a whole lease after the first one; the reconciler asks meanwhile.
//
// A message only says that there is work. It is used up when its operation is
// claimed, parked or known, so a slow payment, a slow provider or an open breaker
// never holds a partition; what no message brings back, the due list does.
//
// Each kind of operation at each account has a circuit: a breaker, the pauses that the
// provider asked for, and a slow return after either. What a circuit does not admit
// waits in PostgreSQL, and comes back oldest first.
package worker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
)

// Consumer is the worker's name in processed_message. It never changes.
const Consumer = "payonce-worker"

const (
	// SlotsDefault bounds the requests in flight at one provider account.
	SlotsDefault = 128
	// SendAllowance is what a lease allows, beyond the provider's timeout, for
	// dialling, for a loaded machine, and for telling the outcome.
	SendAllowance = 2 * time.Second
	// WireAllowance is added to a lease's end before anyone concludes that a send
	// is over: bytes that the kernel took just before may still be under way.
	WireAllowance = time.Second
)

// Config says who the worker is and whom it serves.
type Config struct {
	Name     string // unique among workers; written into attempts
	Accounts map[string]provider.Connector
	Lease    time.Duration // see Validate
	Slots    int           // requests in flight per account; 0 means SlotsDefault
	Pace     Pace
}

// Validate checks the relations on which the lease rests.
func (c Config) Validate() error {
	if c.Name == "" {
		return errors.New("a worker needs a name")
	}
	if len(c.Accounts) == 0 {
		return errors.New("a worker needs at least one provider account to serve")
	}
	for account, connector := range c.Accounts {
		if least := connector.Capabilities().AttemptTimeout() + SendAllowance; c.Lease <= least {
			return fmt.Errorf("the lease (%s) must exceed the calls of an attempt at provider account %s plus %s, %s in all",
				c.Lease, account, SendAllowance, least)
		}
	}
	return nil
}

// Worker claims and sends. Make it with New; Run it once.
type Worker struct {
	config  Config
	pool    *pgxpool.Pool
	gates   map[string]*gate
	applier *outcome.Applier
	log     *zap.Logger
	sends   sync.WaitGroup
}

// New returns a worker that is not running yet.
func New(c Config, pool *pgxpool.Pool, applier *outcome.Applier, log *zap.Logger) (*Worker, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Slots == 0 {
		c.Slots = SlotsDefault
	}
	c.Pace = c.Pace.withDefaults()
	w := &Worker{config: c, pool: pool, gates: map[string]*gate{}, applier: applier, log: log}
	for account, connector := range c.Accounts {
		w.gates[account] = newGate(account, connector, c, log)
	}
	return w, nil
}

// claimFor describes a claim for the accounts that are known among the given ones.
func (w *Worker) claimFor(gates ...*gate) operation.Claim {
	claim := operation.Claim{Worker: w.config.Name, Lease: w.config.Lease, Allowance: WireAllowance}
	for _, g := range gates {
		if !g.identified() {
			continue
		}
		first := time.Unix(0, 0)
		var horizon time.Duration
		if until := g.connector.Capabilities().Key.ResendUntil(first); !until.IsZero() {
			horizon = until.Sub(first)
		}
		claim.Served = append(claim.Served, operation.Served{Account: g.account, Recipe: g.connector.Recipe(), Horizon: horizon})
	}
	return claim
}

// circuit is the one that an attempt goes through. An attempt's account is one that
// was claimed for.
func (w *Worker) circuit(a operation.Attempt) *circuit {
	return w.gates[a.ProviderAccount].circuits[a.Kind]
}

// Drain waits for the requests in flight and for their outcomes, and for questions.
func (w *Worker) Drain(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		w.sends.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for requests in flight: %w", ctx.Err())
	}
}
