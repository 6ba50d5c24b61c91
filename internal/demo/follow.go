package demo

import (
	"context"
	_ "embed"
	"fmt"
	"time"
)

//go:embed finals.sql
var finalsSQL string

// lookInterval is between two looks at what sends no signal.
const lookInterval = 100 * time.Millisecond

// countFinal returns how many payments are final, and shows it.
func (s *stage) countFinal(ctx context.Context) (int, error) {
	var final int
	if err := s.pool.QueryRow(ctx, finalsSQL).Scan(&final); err != nil {
		return 0, fmt.Errorf("counting final payments: %w", err)
	}
	s.progress.show(final)
	return final, nil
}

// follow shows how far the payments are while the callers post, until ctx ends.
func (s *stage) follow(ctx context.Context) {
	ticker := time.NewTicker(2 * lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_, _ = s.countFinal(ctx) // it is for show; awaitFinal tells of errors
		case <-ctx.Done():
			return
		}
	}
}

// awaitFinal waits until every payment is final, or until none has become so for
// openPatience: what is open then stands in the report.
func (s *stage) awaitFinal(ctx context.Context) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	most, since := 0, time.Now()
	for {
		final, err := s.countFinal(ctx)
		if err != nil || final >= s.options.Payments {
			return err
		}
		if final > most {
			most, since = final, time.Now()
		}
		if time.Since(since) > openPatience {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
