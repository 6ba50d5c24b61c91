package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

const (
	// acceptGoal is S3: grouping shall accept twice what one transaction each does.
	acceptGoal = 2.0
	// groupCallers keep the committers' groups full.
	groupCallers = 256
)

// pgbenchClients are tried one after the other; the best of them is the reference.
var pgbenchClients = []int{8, 32, 64}

// measureAccept compares accepting with what pgbench reaches with the same
// statements, one transaction each, on the same server: with the committer alone,
// and with intake as a process behind HTTP.
func measureAccept(ctx context.Context, s *stage) ([]result, error) {
	reference, err := measurePgbench(ctx, s)
	if err != nil {
		return nil, err
	}
	grouped, err := measureCommitter(ctx, s)
	if err != nil {
		return nil, err
	}
	served, record, err := measureIntake(ctx, s)
	if err != nil {
		return nil, err
	}
	goal := acceptGoal
	name := fmt.Sprintf("pgbench, the same statements, one transaction each, %d clients", reference.clients)
	behindHTTP := fmt.Sprintf("intake accepts over HTTP, %d callers on the same machine", s.options.Callers)
	alone := fmt.Sprintf("the committer accepts, %d callers, no HTTP", groupCallers)
	return []result{
		result{ID: "S3", Name: alone, Value: grouped, Unit: "payments/s", Goal: &goal}.against(name, reference.perSecond),
		result{ID: "S3", Name: behindHTTP, Value: served, Unit: "payments/s", Goal: &goal}.against(name, reference.perSecond),
		{ID: "S3", Name: "latency p50 over HTTP under that load", Value: record.quantile(50), Unit: "ms"},
		{ID: "S3", Name: "latency p99 over HTTP under that load", Value: record.quantile(99), Unit: "ms"},
	}, nil
}

// measureCommitter accepts as intake does behind its door.
func measureCommitter(ctx context.Context, s *stage) (perSecond float64, err error) {
	c, err := s.newCell(ctx, "grouped")
	if err != nil {
		return 0, err
	}
	pool, err := postgres.Open(ctx, c.url.AppURL, postgres.PoolOptions{ConnsMax: accept.ConnsMax})
	if err != nil {
		return 0, err
	}
	defer pool.Close()
	committer := accept.NewCommitter(pool, rules)
	running, stop := context.WithCancel(ctx)
	var committing, calling sync.WaitGroup
	committing.Go(func() { committer.Run(running) })
	defer func() {
		stop()
		committing.Wait()
	}()
	until, cancel := context.WithTimeout(ctx, s.options.Reference)
	defer cancel()
	began, failed := time.Now(), make(chan error, groupCallers)
	counts := make([]int, groupCallers)
	for caller := range groupCallers {
		calling.Go(func() {
			for until.Err() == nil {
				if err := acceptOne(ctx, committer, c.shops[caller%len(c.shops)]); err != nil {
					failed <- err
					return
				}
				counts[caller]++
			}
		})
	}
	calling.Wait()
	took := time.Since(began)
	select {
	case err := <-failed:
		return 0, err
	default:
	}
	total := 0
	for _, n := range counts {
		total += n
	}
	return float64(total) / took.Seconds(), nil
}

var rules = accept.Rules{Topic: event.TopicsWithPrefix("payonce").Requests, Source: event.Source("bench")}

func acceptOne(ctx context.Context, committer *accept.Committer, s shop) error {
	request, err := newRequest(s) //nolint:contextcheck // it carries no trace
	if err != nil {
		return err
	}
	result, err := committer.Accept(ctx, request)
	if err == nil && result.Outcome != accept.OutcomeAccepted {
		err = fmt.Errorf("a new payment had outcome %d", result.Outcome)
	}
	return err
}

// newRequest asks for a payment that nobody has asked for.
func newRequest(s shop) (accept.Request, error) {
	key, token := uuid.Must(uuid.NewV7()).String(), "tok_ok"
	return accept.Command{
		MerchantID: s.merchant.ID, ProviderAccount: s.merchant.ProviderAccount, IdempotencyKey: key,
		InvoiceID: "INV-" + key, PaymentType: "order", Amount: "10.00", Currency: "EUR", PaymentMethod: &token,
	}.Validate()
}

// measureIntake has callers accept over HTTP, with nothing else running.
func measureIntake(ctx context.Context, s *stage) (perSecond float64, r *record, err error) {
	c, err := s.newCell(ctx, "served")
	if err != nil {
		return 0, nil, err
	}
	if _, err := s.serve(ctx, c, "intake"); err != nil {
		return 0, nil, err
	}
	closedLoop(ctx, c, newPlanOfFirsts(warmUpRequests), s.options.Callers)
	ending, cancel := context.WithTimeout(ctx, s.options.Reference)
	defer cancel()
	r = closedLoop(ending, c, newPlanOfFirsts(int(firstsPerSecond*s.options.Reference.Seconds())), s.options.Callers)
	taken := 0
	for _, a := range r.answers {
		if a.class == accepted {
			taken++
		}
	}
	return float64(taken) / r.took.Seconds(), r, nil
}

// firstsPerSecond is far above what one machine accepts.
const firstsPerSecond = 20_000

// newPlanOfFirsts is a plan without repeats.
func newPlanOfFirsts(requests int) *plan {
	p := &plan{}
	for order := range requests {
		p.shots = append(p.shots, shot{order: order})
		p.keys = append(p.keys, uuid.Must(uuid.NewV7()).String())
	}
	return p
}
