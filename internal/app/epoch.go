package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/operation"
)

// Bump is that commits of the database were lost.
type Bump struct {
	Operator
	// InFlight is how long from now a request of a worker that the old database let go
	// may still be sent: the longest PAYONCE_LEASE of any worker, and a second more.
	InFlight time.Duration
	// Again begins a new epoch although the newest one is not recorded everywhere yet,
	// because commits were lost once more since it began.
	Again bool
}

// Bumped says what a bump did, or would do.
type Bumped struct {
	EpochID  string     `json:"epochId,omitempty"`
	BumpedAt *time.Time `json:"bumpedAt,omitempty"`
	// GoesOn means that it is the newest epoch, which had stopped on its way.
	GoesOn   bool       `json:"goesOn"`
	Open     []OpenThen `json:"open"` // before it ran
	Recorded int        `json:"recorded"`
	Executed bool       `json:"executed"`
}

// OpenThen is how many operations of an account are in a state.
type OpenThen struct {
	Account    string `json:"account"`
	State      string `json:"state"`
	Operations int    `json:"operations"`
}

// BumpEpoch makes everything that is open be asked about before anything is sent. It
// works in small transactions and may be stopped at any moment: called again, it goes
// on. told hears after each how many operations are done.
func BumpEpoch(ctx context.Context, environ []string, b Bump, told func(done int)) (Bumped, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return Bumped{}, err
	}
	defer d.close()
	newest, open, err := d.unfinished(ctx, b)
	if err != nil {
		return Bumped{}, err
	}
	bumped := Bumped{GoesOn: newest.ID != uuid.Nil, Open: open, Executed: b.Execute}
	if b.Execute && !bumped.GoesOn {
		id, err := uuid.NewV7()
		if err != nil {
			return bumped, err
		}
		newest, err = operation.BeginEpoch(ctx, d.pool, operation.Epoch{ID: id, InFlight: b.InFlight, Who: b.By, Reason: b.Reason})
		if err != nil {
			return bumped, err
		}
	}
	if newest.ID != uuid.Nil {
		bumped.EpochID, bumped.BumpedAt = newest.ID.String(), inUTC(&newest.BumpedAt)
	}
	if !b.Execute {
		return bumped, nil
	}
	err = d.publisher.BumpAll(ctx, d.pool, newest, func(done int) {
		bumped.Recorded = done
		told(done)
	})
	return bumped, err
}

// unfinished returns the newest epoch when it is to be gone on with, and what is open
// for the bump.
func (d desk) unfinished(ctx context.Context, b Bump) (operation.Epoch, []OpenThen, error) {
	newest, found, err := operation.NewestEpoch(ctx, d.pool)
	if err != nil {
		return operation.Epoch{}, nil, err
	}
	if found && !b.Again {
		open, err := d.countOpen(ctx, newest.ID)
		if err != nil || len(open) > 0 {
			return newest, open, err
		}
	}
	open, err := d.countOpen(ctx, uuid.Nil)
	return operation.Epoch{}, open, err
}

func (d desk) countOpen(ctx context.Context, epoch uuid.UUID) ([]OpenThen, error) {
	counts, err := operation.CountOpen(ctx, d.pool, epoch)
	open := []OpenThen{}
	for _, c := range counts {
		open = append(open, OpenThen{Account: c.ProviderAccount, State: string(c.State), Operations: c.Operations})
	}
	return open, err
}
