package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

// groupCallers keep the committer's groups full.
const groupCallers = 256

// grouped accepts as intake does behind its door.
type grouped struct {
	cell      *cell
	committer *accept.Committer
}

func newGrouped(ctx context.Context, s *stage) (*grouped, error) {
	c, err := s.newCell(ctx, "grouped")
	if err != nil {
		return nil, err
	}
	pool, err := postgres.Open(ctx, c.url.AppURL, postgres.PoolOptions{ConnsMax: accept.ConnsMax})
	if err != nil {
		return nil, err
	}
	s.later(pool.Close)
	g := &grouped{c, accept.NewCommitter(pool, rules)}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	var committing sync.WaitGroup
	committing.Go(func() { g.committer.Run(running) })
	s.later(func() {
		stop()
		committing.Wait()
	})
	if _, err = g.accept(ctx, warmUp); err != nil {
		return nil, err
	}
	return g, c.analyze(ctx)
}

func (g *grouped) accept(ctx context.Context, lasting time.Duration) (perSecond float64, err error) {
	began := time.Now()
	var calling sync.WaitGroup
	var taken atomic.Int64
	failed := make([]error, groupCallers)
	for caller := range groupCallers {
		calling.Go(func() {
			for failed[caller] == nil && time.Since(began) < lasting {
				if failed[caller] = g.acceptOne(ctx, caller); failed[caller] == nil {
					taken.Add(1)
				}
			}
		})
	}
	calling.Wait()
	return float64(taken.Load()) / time.Since(began).Seconds(), errors.Join(failed...)
}

func (g *grouped) acceptOne(ctx context.Context, caller int) error {
	request, err := newRequest(g.cell.shops[caller%len(g.cell.shops)]) //nolint:contextcheck // it carries no trace
	if err != nil {
		return err
	}
	result, err := g.committer.Accept(ctx, request)
	if err == nil && result.Outcome != accept.OutcomeAccepted {
		err = fmt.Errorf("a new payment had outcome %d", result.Outcome)
	}
	return err
}

var rules = accept.Rules{Topic: event.TopicsWithPrefix("payonce").Requests, Source: event.Source("bench")}

// newRequest asks for a payment that nobody has asked for.
func newRequest(s shop) (accept.Request, error) {
	key, token := uuid.Must(uuid.NewV7()).String(), "tok_ok"
	return accept.Command{
		MerchantID: s.merchant.ID, ProviderAccount: s.merchant.ProviderAccount, IdempotencyKey: key,
		InvoiceID: "INV-" + key, PaymentType: "order", Amount: "10.00", Currency: "EUR", PaymentMethod: &token,
	}.Validate()
}
