package demo

import (
	"context"
	"time"
)

// lookInterval is between two looks at what sends no signal.
const lookInterval = 50 * time.Millisecond

// follow shows how far the payments are while the callers post, until ctx ends.
func (s *stage) follow(ctx context.Context) {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.progress.show(s.witness.finals())
		case <-ctx.Done():
			return
		}
	}
}

// awaitFinal waits until every payment's outcome is told, or until none was told
// for openPatience: what is open then stands in the report.
func (s *stage) awaitFinal(ctx context.Context) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	most, since := 0, time.Now()
	for {
		final := s.witness.finals()
		s.progress.show(final)
		if final > most {
			most, since = final, time.Now()
		}
		if final >= s.options.Payments || time.Since(since) > openPatience {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
