package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

const (
	// acceptGoal is S3: grouping shall accept twice what one transaction each does.
	acceptGoal = 2.0
	// rounds have a median that one disturbed round does not move.
	rounds = 3
	// warmUp brings connections, plans and caches to where they stay.
	warmUp = 2 * time.Second
)

// contender accepts payments for a time, as fast as it can, and says how many a second.
type contender interface {
	accept(ctx context.Context, lasting time.Duration) (perSecond float64, err error)
}

// measureAccept compares accepting with what pgbench reaches with the same
// statements, one transaction each, for the same merchants on the same server: with
// the committer alone, and with intake as a process behind HTTP.
func measureAccept(ctx context.Context, s *stage) ([]result, error) {
	pgbench, err := newPgbench(ctx, s)
	if err != nil {
		return nil, err
	}
	grouped, err := newGrouped(ctx, s)
	if err != nil {
		return nil, err
	}
	served, err := newServed(ctx, s)
	if err != nil {
		return nil, err
	}
	medians, err := inTurns(ctx, s.options.Reference, pgbench, grouped, served)
	if err != nil {
		return nil, err
	}
	if err := pgbench.holds(ctx); err != nil {
		return nil, err
	}
	goal := acceptGoal
	reference := fmt.Sprintf("pgbench, the same statements, one transaction each, %d clients", pgbench.clients)
	alone := fmt.Sprintf("the committer accepts, %d callers, no HTTP", groupCallers)
	behindHTTP := fmt.Sprintf("intake accepts over HTTP, %d callers on the same machine", s.options.Callers)
	return []result{
		result{ID: "S3", Name: alone, Value: medians[1], Unit: "payments/s", Goal: &goal}.against(reference, medians[0]),
		result{ID: "S3", Name: behindHTTP, Value: medians[2], Unit: "payments/s", Goal: &goal}.against(reference, medians[0]),
		{ID: "S3", Name: "latency p50 over HTTP under that load", Value: served.seen.quantile(50), Unit: "ms"},
		{ID: "S3", Name: "latency p99 over HTTP under that load", Value: served.seen.quantile(99), Unit: "ms"},
	}, nil
}

// inTurns has each contender accept once in every round, and returns their medians.
// Every other round goes backwards, so that a machine which grows slower or faster
// favors nobody.
func inTurns(ctx context.Context, lasting time.Duration, contenders ...contender) ([]float64, error) {
	order, rates := make([]int, len(contenders)), make([][]float64, len(contenders))
	for i := range order {
		order[i] = i
	}
	for range rounds {
		for _, i := range order {
			perSecond, err := contenders[i].accept(ctx, lasting)
			if err != nil {
				return nil, err
			}
			rates[i] = append(rates[i], perSecond)
		}
		slices.Reverse(order)
	}
	medians := make([]float64, len(contenders))
	for i := range medians {
		slices.Sort(rates[i])
		medians[i] = rates[i][rounds/2]
	}
	return medians, nil
}
