package demo

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed totals.sql
var totalsSQL string

//go:embed guesses.sql
var guessesSQL string

//go:embed books.sql
var booksSQL string

//go:embed told.sql
var toldSQL string

//go:embed takeovers.sql
var takeoversSQL string

//go:embed finals.sql
var finalsSQL string

//go:embed outcomes.sql
var outcomesSQL string

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
	ticker := time.NewTicker(200 * time.Millisecond)
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

// awaitFinal waits until every accepted payment is final, or patience ends: what
// is open then stands in the report.
func (s *stage) awaitFinal(ctx context.Context) error {
	waiting, cancel := context.WithTimeout(ctx, openPatience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		final, err := s.countFinal(ctx)
		if err != nil || final >= s.options.Payments {
			return err
		}
		select {
		case <-ticker.C:
		case <-waiting.Done():
			return ctx.Err()
		}
	}
}

// audit compares what the providers, the topics and billing say with what payonce
// says.
func (s *stage) audit(ctx context.Context, l *load) (Report, error) {
	r := Report{Requests: int(l.requests.Load()), unequalAnswers: l.unequal}
	var stored int
	if err := s.pool.QueryRow(ctx, totalsSQL).Scan(&stored, &r.Captured, &r.Failed, &r.UnknownOpen, &r.capturedMinor); err != nil {
		return r, fmt.Errorf("counting payments: %w", err)
	}
	// Accepted is what clients were told; what the database does not have of it is lost.
	r.Accepted = len(l.accepted)
	r.Lost = r.Accepted - r.Captured - r.Failed - r.UnknownOpen
	for _, step := range []func(context.Context, *Report) error{s.auditProviders, s.auditBooks, s.auditEvents, s.auditBilling} {
		if err := step(ctx, &r); err != nil {
			return r, err
		}
	}
	different, err := s.replayFinals(ctx, l)
	r.unequalAnswers += different
	return r, err
}

// auditProviders asks the oracles what was really charged. A charge that was
// voided afterwards moved no money in the end.
func (s *stage) auditProviders(ctx context.Context, r *Report) error {
	succeeded := map[string]bool{}
	rows, err := s.pool.Query(ctx, outcomesSQL)
	if err != nil {
		return fmt.Errorf("reading outcomes: %w", err)
	}
	var id uuid.UUID
	var captured bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &captured}, func() error {
		succeeded[id.String()] = captured
		return nil
	}); err != nil {
		return fmt.Errorf("reading outcomes: %w", err)
	}
	for _, provider := range s.providers {
		for reference, counts := range provider.Oracle().References {
			net := counts.Charged - counts.Voided
			r.Sends += counts.Sends
			r.ProviderCharges += net
			if net > 1 {
				r.DoubleCharges++
			}
			if (net == 1) != succeeded[reference] {
				r.disagreements++
			}
		}
	}
	if err := s.pool.QueryRow(ctx, guessesSQL).Scan(&r.guesses); err != nil {
		return fmt.Errorf("looking for guesses: %w", err)
	}
	if err := s.pool.QueryRow(ctx, takeoversSQL).Scan(&r.Takeovers); err != nil {
		return fmt.Errorf("counting takeovers: %w", err)
	}
	return nil
}

func (s *stage) auditBooks(ctx context.Context, r *Report) error {
	if err := s.pool.QueryRow(ctx, booksSQL).Scan(&r.LedgerSum, &r.bookedMinor); err != nil {
		return fmt.Errorf("reading the ledger: %w", err)
	}
	return nil
}

// auditEvents compares the topics with the history: every event that was
// committed is there, no other one is, and first deliveries are in order.
func (s *stage) auditEvents(ctx context.Context, r *Report) error {
	rows, err := s.pool.Query(ctx, toldSQL, s.topics.Events)
	if err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	told := 0
	outcomes := map[uuid.UUID][]uuid.UUID{}
	var payment, id uuid.UUID
	var outcome bool
	if _, err := pgx.ForEachRow(rows, []any{&payment, &id, &outcome}, func() error {
		told++
		if outcome {
			outcomes[payment] = append(outcomes[payment], id)
		}
		return nil
	}); err != nil {
		return fmt.Errorf("reading the history: %w", err)
	}
	s.witness.await(ctx, told)
	r.EventsPublished = s.witness.distinct()
	r.eventsTold, r.repeatedEvents = told, s.witness.repeated()
	for payment, ids := range outcomes {
		if !slices.Equal(ids, s.witness.firstDeliveries(payment)) {
			r.disorderly++
		}
	}
	return nil
}

// auditBilling waits until billing has followed, and counts its rows.
func (s *stage) auditBilling(ctx context.Context, r *Report) error {
	ctx, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if err := s.billed.QueryRow(ctx, "SELECT count(*) FROM billed").Scan(&r.Billed); err != nil {
			return fmt.Errorf("asking billing: %w", err)
		}
		if r.Billed >= r.Captured {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil // the report says how far it got
		}
	}
}
