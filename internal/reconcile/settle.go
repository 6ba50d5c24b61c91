package reconcile

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/webhook"
)

// errBusyNow is returned when an operation, that was open and at rest when its event
// was judged, is not so any more. The event is judged again.
var errBusyNow = errors.New("the operation has moved since the webhook was judged")

// settlement is what becomes of one event, and what follows from it.
type settlement struct {
	webhook.Finished

	speaks  bool // of an operation; then outcome is what it says
	outcome outcome.Outcome
	look    bool // the provider is to be asked at once
	stand   operation.Stand
	owner   operation.Owner // stays who it was
}

// settler commits settlements.
type settler outcome.Publisher

// apply writes what has become of the events and what follows from them in one
// transaction, so that an event follows through once. The events' rows come first in
// the order of locks, as inbox rows do. It is groupcommit's Apply.
func (p settler) apply(ctx context.Context, tx pgx.Tx, group []settlement) ([]outcome.Applied, error) {
	finished := make([]webhook.Finished, len(group))
	for i, s := range group {
		finished[i] = s.Finished
	}
	written, err := webhook.Finish(ctx, tx, finished)
	if err != nil {
		return nil, err
	}
	var outcomes []outcome.Outcome
	var from []int
	for i, s := range group {
		if s.speaks && written[s.Event.ID] {
			outcomes, from = append(outcomes, s.outcome), append(from, i)
		}
	}
	results := make([]outcome.Applied, len(group))
	if len(outcomes) == 0 {
		return results, nil
	}
	applied, err := outcome.Publisher(p).Apply(ctx, tx, outcomes)
	if err != nil {
		return nil, fmt.Errorf("applying what webhooks say: %w", err)
	}
	for n, i := range from {
		results[i] = applied[n]
		if err := group[i].lookNow(ctx, tx); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// lookNow makes the next look due.
func (s settlement) lookNow(ctx context.Context, tx pgx.Tx) error {
	if !s.look {
		return nil
	}
	due, err := operation.LookAgain(ctx, tx, s.stand, 0, s.owner)
	if err == nil && !due {
		err = errBusyNow
	}
	return err
}
