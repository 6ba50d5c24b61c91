package outcome

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/operation"
)

// bumpCases hands open cases whose next step is the machine's to a person. The refund
// of such a case may have been ordered, and may have taken place, by an operation that
// is lost: nobody can be asked about it by its id, and a second one has another key.
// A case that waits for a person goes on to, and tells of the bump: whoever decides
// about it has to look for such a refund. One that moved since the bump is left alone:
// whoever moved it knew.
func (p Publisher) bumpCases(ctx context.Context, pool *pgxpool.Pool, e operation.Epoch) error {
	filter := casework.Filter{Limit: bumpGroupMax}
	for {
		page, err := casework.List(ctx, pool, filter)
		if err != nil || len(page) == 0 {
			return err
		}
		filter.After = page[len(page)-1].ID
		for _, c := range page {
			if c.State != casework.Open || !lostSince(c, e) {
				continue
			}
			err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { return p.bumpCase(ctx, tx, c) })
			if err != nil {
				return fmt.Errorf("handing case %s over: %w", c.ID, err)
			}
		}
	}
}

// lostSince reports a case that has not moved since the epoch began.
func lostSince(c casework.Case, e operation.Epoch) bool { return !c.UpdatedAt.After(e.BumpedAt) }

func (p Publisher) bumpCase(ctx context.Context, tx pgx.Tx, seen casework.Case) error {
	locked, err := lockAll(ctx, tx, locks{operations: []uuid.UUID{seen.OperationID}})
	if err != nil {
		return err
	}
	k := locked[seen.OperationID]
	f := k.fileWith(seen.ID)
	if f.Version != seen.Version {
		return nil // it moved meanwhile
	}
	var w writes
	told := f.handToPerson(ReasonCommitsLost)
	if told.from.WaitsFor == operation.Person {
		told.to = told.from.Standing // with the plan that it has
	}
	if err := w.follow(k, []step{told}); err != nil {
		return err
	}
	return w.send(ctx, tx)
}
