package drift

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
)

//go:embed preview.sql
var previewSQL string

// CountMax is where Preview stops to count.
const CountMax = 100_000

// Plan says what scanning a window would do. Nothing was asked for it.
type Plan struct {
	ProviderAccount string
	Identity        string
	Window
	ListFrom, ListTo time.Time // what is read of the provider's list
	Operations       int       // of ours in the window that have succeeded, counted up to CountMax
	ScannedUntil     time.Time // without a gap
	Resumes          uuid.UUID // the unfinished scan of this window, or Nil
}

// Preview says what Scan would do, and writes nothing. Errors: ErrNoList, ErrNoWindow,
// ErrTooRecent.
func (s *Scanner) Preview(ctx context.Context, name string, window Window) (Plan, error) {
	if !window.From.Before(window.To) {
		return Plan{}, ErrNoWindow
	}
	_, a, err := s.prepare(ctx, name)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		ProviderAccount: a.name, Identity: a.identity, Window: window,
		ListFrom: window.From.Add(-ClockMargin), ListTo: window.To.Add(ClockMargin),
	}
	var now time.Time
	err = s.Pool.QueryRow(ctx, previewSQL, a.name, a.identity, window.From, window.To, firstID(window.From), firstID(window.To), CountMax).
		Scan(&now, &p.ScannedUntil, &p.Resumes, &p.Operations)
	if err != nil {
		return Plan{}, fmt.Errorf("looking at the window of %s: %w", name, err)
	}
	if window.To.After(now.Add(-ListingLag)) {
		return Plan{}, ErrTooRecent
	}
	return p, nil
}
