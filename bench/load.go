package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/pspsim"
)

// settlePatience bounds the wait for the last payment to be captured.
const settlePatience = 3 * time.Minute

//go:embed open.sql
var openSQL string

//go:embed doubles.sql
var doublesSQL string

// measureLoad is the load run: the whole pipeline under requests of which nearly a
// third are repeats.
func measureLoad(ctx context.Context, s *stage) ([]result, error) {
	c, err := s.newCell(ctx, "load")
	if err != nil {
		return nil, err
	}
	provider, err := s.serve(ctx, c, "intake", "relay", "worker", "reconciler")
	if err != nil {
		return nil, err
	}
	warm := closedLoop(ctx, c, newPlan(warmUpRequests, s.options.Rate, s.options.Seed+2), s.options.Callers)
	if err := c.settled(ctx); err != nil {
		return nil, err
	}
	o := s.options
	open := openLoop(ctx, c, newPlan(int(float64(o.Rate)*o.Duration.Seconds()), o.Rate, o.Seed))
	if err := c.settled(ctx); err != nil {
		return nil, err
	}
	closed := closedLoop(ctx, c, newPlan(o.Requests, o.Rate, o.Seed+1), o.Callers)
	answered := time.Now()
	if err := c.settled(ctx); err != nil {
		return nil, err
	}
	lag := time.Since(answered)
	results := open.results("load.open", fmt.Sprintf("open loop, %d requests/s for %s", o.Rate, o.Duration))
	results = append(results, closed.results("load.closed", fmt.Sprintf("closed loop, %d callers", o.Callers))...)
	results = append(results,
		result{ID: "load.open", Name: "the generator's own worst delay", Value: ms(open.lateMost), Unit: "ms"},
		result{ID: "load.closed", Name: "from the last answer to the last capture", Value: lag.Seconds(), Unit: "s"})
	double, err := c.doubles(ctx, provider, warm, open, closed)
	once := result{ID: "P1", Name: "double payments, in PostgreSQL and at the provider", Value: float64(double), Unit: "payments"}
	return append(results, once.atMost(0)), err
}

// warmUpRequests bring connections, plans and caches to where they stay.
const warmUpRequests = 500

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// results are the figures of one loop.
func (r *record) results(id, name string) []result {
	repeated, well := r.repeats()
	share := 100 * float64(well) / float64(max(repeated, 1))
	figures := []result{
		{ID: id, Name: name + ": requests", Value: float64(len(r.answers)), Unit: "requests"},
		{ID: id, Name: "answered with a payment", Value: float64(r.taken()) / r.took.Seconds(), Unit: "1/s"},
		{ID: id, Name: "their latency p50", Value: r.quantile(50), Unit: "ms"},
		{ID: id, Name: "their latency p95", Value: r.quantile(95), Unit: "ms"},
		{ID: id, Name: "their latency p99", Value: r.quantile(99), Unit: "ms"},
		{ID: id, Name: "their latency, worst", Value: r.quantile(100), Unit: "ms"},
		{ID: id, Name: "repeats", Value: 100 * float64(repeated) / float64(len(r.answers)), Unit: "% of requests"},
		{ID: id, Name: "repeats sent before the first one was answered", Value: 100 * float64(r.inFlight()) / float64(max(repeated, 1)), Unit: "%"},
		{ID: id, Name: "repeats answered with the first one's payment and Idempotent-Replayed", Value: share, Unit: "%"},
	}
	classes := map[string]int{}
	for _, a := range r.answers {
		if a.class != accepted {
			classes[a.class]++
		}
	}
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		figures = append(figures, result{ID: id, Name: "not accepted: " + class, Value: float64(classes[class]), Unit: "requests"})
	}
	return figures
}

// repeats counts the requests beyond the first of each order, and those of them that
// were answered well: of all answers to an order one is the first, and every other
// one is marked as a replay and tells of the same payment.
func (r *record) repeats() (repeated, well int) {
	for _, answers := range r.byOrder() {
		repeated += len(answers) - 1
		first, replays := uuid.Nil, 0
		for _, a := range answers {
			switch {
			case a.class != accepted:
			case a.replayed:
				replays++
			default:
				first = a.id
			}
		}
		for _, a := range answers {
			if a.class == accepted && a.replayed && a.id == first && replays < len(answers) {
				well++
			}
		}
	}
	return repeated, well
}

// inFlight counts the repeats that were sent while the first request of their order
// was unanswered.
func (r *record) inFlight() int {
	count := 0
	for _, answers := range r.byOrder() {
		first := slices.MinFunc(answers, func(a, b answer) int { return a.due.Compare(b.due) })
		for _, a := range answers {
			if a.due.Before(first.due.Add(first.latency)) {
				count++
			}
		}
		count-- // the first one itself
	}
	return count
}

func (r *record) byOrder() map[int][]answer {
	orders := map[int][]answer{}
	for _, a := range r.answers {
		orders[a.shot.order] = append(orders[a.shot.order], a)
	}
	return orders
}

// settled waits until every payment has its outcome.
func (c *cell) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		var open int
		if err := c.pool.QueryRow(ctx, openSQL).Scan(&open); err != nil {
			return fmt.Errorf("waiting for the last capture: %w", err)
		}
		if open == 0 {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%d payments are still open: %w", open, ctx.Err())
		}
	}
}

// doubles counts payments that are there twice, by everyone's word: the answers',
// the database's, and the provider's. A payment that one of them does not know is an
// error.
func (c *cell) doubles(ctx context.Context, provider *pspsim.Server, records ...*record) (int, error) {
	double, orders := 0, 0
	for _, r := range records {
		for _, answers := range r.byOrder() {
			ids := map[uuid.UUID]bool{}
			for _, a := range answers {
				if a.class == accepted {
					ids[a.id] = true
				}
			}
			orders += min(len(ids), 1)
			double += max(len(ids)-1, 0)
		}
	}
	var payments, twice, captured int
	if err := c.pool.QueryRow(ctx, doublesSQL).Scan(&payments, &twice, &captured); err != nil {
		return 0, fmt.Errorf("looking for double payments: %w", err)
	}
	charged := provider.Oracle().References
	for _, counts := range charged {
		double += max(counts.Charged-1, 0)
	}
	double += twice
	switch {
	case double > 0:
		return double, fmt.Errorf("%d payments were made twice", double)
	case payments < orders || captured != len(charged) || captured != payments:
		return 0, fmt.Errorf("%d orders were accepted, %d payments stored, %d captured, %d charged by the provider",
			orders, payments, captured, len(charged))
	case orders == 0:
		return 0, errors.New("no payment was accepted")
	}
	return 0, nil
}
