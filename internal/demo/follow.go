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

// awaitFinal waits until every outcome is told, of payments and of refunds, or until
// none was told for openPatience: what is open then stands in the report.
func (s *stage) awaitFinal(ctx context.Context, l *load) error {
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	most, since := 0, time.Now()
	for {
		coming := s.amending.coming.Load() // before their refunds are counted
		payments, refunds := s.witness.finals(), s.witness.finalRefunds()
		s.progress.show(payments)
		if payments+refunds > most {
			most, since = payments+refunds, time.Now()
		}
		all := payments >= s.options.Payments && coming == 0 && refunds >= l.refundsTaken()
		if all || time.Since(since) > openPatience {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
