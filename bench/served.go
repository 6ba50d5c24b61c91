package main

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// served accepts over HTTP, with intake as a process of its own.
type served struct {
	cell    *cell
	callers int
	seen    *record // its latency is that of all rounds
}

func newServed(ctx context.Context, s *stage) (*served, error) {
	c, err := s.newCell(ctx, "served")
	if err != nil {
		return nil, err
	}
	if _, err := s.serve(ctx, c, "intake"); err != nil {
		return nil, err
	}
	v := &served{c, s.options.Callers, newRecord(nil)}
	if _, err = v.accept(ctx, warmUp); err != nil {
		return nil, err
	}
	v.seen.latency.Reset()
	return v, c.analyze(ctx)
}

func (v *served) accept(ctx context.Context, lasting time.Duration) (perSecond float64, err error) {
	ending, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	r := closedLoop(ending, v.cell, newPlanOfFirsts(int(firstsPerSecond*lasting.Seconds())), v.callers)
	v.seen.latency.Merge(r.latency)
	return float64(r.taken()) / r.took.Seconds(), ctx.Err()
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
