package drift

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Phase is what a scan does next.
type Phase string

// The phases, in their order.
const (
	Listing   Phase = "listing"   // reading the provider's list
	Recalling Phase = "recalling" // operations that an earlier scan left for later
	Comparing Phase = "comparing" // our operations of the window with the list
	Weighing  Phase = "weighing"  // the list's movements with our operations
	Asking    Phase = "asking"    // about what does not agree
	Done      Phase = "done"
)

// Window is a span of time, [From, To), in which operations were accepted.
type Window struct{ From, To time.Time }

// Scan is one window's scan as it stands.
type Scan struct {
	ID              uuid.UUID
	ProviderAccount string
	Identity        string // the provider's own name of the account
	Window
	Phase      Phase
	Cursor     string    // of the list's next page; while recalling, the last finding that was recalled
	After      uuid.UUID // operations are compared up to and with this one
	Pages      int
	Listed     int64 // movements
	Told       int64 // movements that became evidence, with the cases that follow
	Asked      int64 // inquiries
	Found      int64 // findings that were new, or opened again
	version    int64
	now        time.Time // database clock, before the next step
	FinishedAt *time.Time
}

//go:embed know.sql
var knowSQL string

//go:embed open_due.sql
var openDueSQL string

//go:embed open.sql
var openSQL string

//go:embed take.sql
var takeSQL string

//go:embed hold.sql
var holdSQL string

//go:embed advance.sql
var advanceSQL string

//go:embed reach.sql
var reachSQL string

//go:embed release.sql
var releaseSQL string

// account is an account of ours with the provider's own name of it.
type account struct{ name, identity string }

// know makes sure that it stands until when the account has been scanned. What is new
// begins before the oldest operation.
func know(ctx context.Context, pool *pgxpool.Pool, a account) error {
	if _, err := pool.Exec(ctx, knowSQL, a.name, a.identity); err != nil {
		return fmt.Errorf("noting the drift scans of %s: %w", a.name, err)
	}
	return nil
}

// openDue opens the schedule's next scan when its window is long enough and no other
// one of the schedule is unfinished.
func openDue(ctx context.Context, pool *pgxpool.Pool, a account, interval time.Duration) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("naming a drift scan: %w", err)
	}
	if _, err := pool.Exec(ctx, openDueSQL, id, a.name, a.identity, ListingLag, interval, WindowMax); err != nil {
		return fmt.Errorf("opening a drift scan of %s: %w", a.name, err)
	}
	return nil
}

// openWindow opens a scan that a person asks for, unless one of the same window is
// unfinished, and returns the id of whichever it is.
func openWindow(ctx context.Context, pool *pgxpool.Pool, a account, w Window) (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("naming a drift scan: %w", err)
	}
	if err = pool.QueryRow(ctx, openSQL, id, a.name, a.identity, w.From, w.To).Scan(&id); err != nil {
		return uuid.Nil, fmt.Errorf("opening a drift scan of %s: %w", a.name, err)
	}
	return id, nil
}

// take leases an unfinished scan of the account that nobody works on: the given one,
// or with Nil the one that was taken least often, of these the oldest. It reports false when there is none.
func take(ctx context.Context, pool *pgxpool.Pool, a account, id uuid.UUID) (Scan, bool, error) {
	rows, err := pool.Query(ctx, takeSQL, a.name, a.identity, id, lease)
	if err != nil {
		return Scan{}, false, fmt.Errorf("taking a drift scan of %s: %w", a.name, err)
	}
	s, err := pgx.CollectExactlyOneRow(rows, scanRow)
	if errors.Is(err, pgx.ErrNoRows) {
		return Scan{}, false, nil
	}
	if err != nil {
		return Scan{}, false, fmt.Errorf("taking a drift scan of %s: %w", a.name, err)
	}
	return s, true, nil
}

func scanRow(row pgx.CollectableRow) (Scan, error) {
	var s Scan
	err := row.Scan(&s.ID, &s.ProviderAccount, &s.Identity, &s.From, &s.To, &s.Phase, &s.Cursor, &s.After, &s.Pages, &s.Listed,
		&s.Told, &s.Asked, &s.Found, &s.version, &s.now, &s.FinishedAt)
	return s, err
}

// advance commits one step: what write does, and where the scan stands then. Write may
// count in next. The scan's row is locked first, so a step of a scanner whose lease was
// taken over writes nothing and gets ErrTaken.
func (s *Scan) advance(ctx context.Context, pool *pgxpool.Pool, next Scan, write func(tx pgx.Tx, next *Scan) error) error {
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		var held int64
		err := tx.QueryRow(ctx, holdSQL, s.ID, s.version).Scan(&held)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrTaken
		}
		if err != nil {
			return err
		}
		if err := write(tx, &next); err != nil {
			return err
		}
		if next.Phase == Done {
			if _, err := tx.Exec(ctx, reachSQL, s.ProviderAccount, s.Identity, s.From, s.To); err != nil {
				return err
			}
		}
		return tx.QueryRow(ctx, advanceSQL, s.ID, string(next.Phase), next.Cursor, next.After, next.Pages, next.Listed,
			next.Told, next.Asked, next.Found, lease).Scan(&next.now, &next.FinishedAt)
	})
	if err != nil {
		return fmt.Errorf("%s, drift scan %s of %s: %w", s.Phase, s.ID, s.ProviderAccount, err)
	}
	*s = next
	return nil
}

// release lets another scanner go on at once.
func (s *Scan) release(ctx context.Context, pool *pgxpool.Pool) error {
	if _, err := pool.Exec(ctx, releaseSQL, s.ID, s.version); err != nil {
		return fmt.Errorf("releasing drift scan %s: %w", s.ID, err)
	}
	return nil
}
