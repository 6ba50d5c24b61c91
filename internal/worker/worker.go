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
	w := &Worker{config: c, pool: pool, gates: map[string]*gate{}, applier: applier, log: log}
	for account, connector := range c.Accounts {
		w.gates[account] = newGate(account, connector, c.Slots, log)
	}
	return w, nil
}

// claimFor describes a claim for one account or, without any, for all.
func (w *Worker) claimFor(accounts ...string) operation.Claim {
	if len(accounts) == 0 {
		for account := range w.gates {
			accounts = append(accounts, account)
		}
	}
	claim := operation.Claim{Worker: w.config.Name, Lease: w.config.Lease, Allowance: WireAllowance}
	for _, account := range accounts {
		connector := w.gates[account].connector
		if !w.gates[account].identified() {
			continue
		}
		first := time.Unix(0, 0)
		var horizon time.Duration
		if until := connector.Capabilities().Key.ResendUntil(first); !until.IsZero() {
			horizon = until.Sub(first)
		}
		claim.Served = append(claim.Served, operation.Served{Account: account, Recipe: connector.Recipe(), Horizon: horizon})
	}
	return claim
}

// Drain waits for the requests in flight and for their outcomes.
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
