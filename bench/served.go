package main

import (
	"context"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/uuid"
)

// served accepts over HTTP, with intake as a process of its own.
type served struct {
	cell    *cell
	callers int
	latency *hdrhistogram.Histogram // of all rounds
}

func newServed(ctx context.Context, s *stage) (*served, error) {
	c, err := s.newCell(ctx, "served")
	if err != nil {
		return nil, err
	}
	if _, err := s.serve(ctx, c, "intake"); err != nil {
		return nil, err
	}
	v := &served{c, s.options.Callers, newRecord(nil).latency}
	if _, err = v.accept(ctx, warmUp); err != nil {
		return nil, err
	}
	v.latency.Reset()
	return v, c.analyze(ctx)
}

func (v *served) accept(ctx context.Context, lasting time.Duration) (perSecond float64, err error) {
	ending, cancel := context.WithTimeout(ctx, lasting)
	defer cancel()
	r := closedLoop(ending, v.cell, newPlanOfFirsts(int(firstsPerSecond*lasting.Seconds())), v.callers)
	v.latency.Merge(r.latency)
	return float64(r.taken()) / r.took.Seconds(), ctx.Err()
}

// quantile returns a latency in milliseconds.
func (v *served) quantile(percent float64) float64 {
	return float64(v.latency.ValueAtQuantile(percent)) / 1000
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
