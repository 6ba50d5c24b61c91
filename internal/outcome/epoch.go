package outcome

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// ReasonCommitsLost marks an operation of which an attempt may have been lost with
// commits of the database.
const ReasonCommitsLost = "commits-lost"

// The bounds of recording an epoch.
const (
	// bumpPageMax ids are read at once: each page reads all that is open.
	bumpPageMax = 5000
	// bumpGroupMax operations share a transaction.
	bumpGroupMax = 200
	// bumpPause is between two looks at transactions that are still open.
	bumpPause = 100 * time.Millisecond
)

// Bump records an epoch at operations: each gets an attempt that stands for whatever
// may have been lost, and a new fence, so that workers which hold an older one are
// stale and resend orders fall. What was waiting to be sent or being sent becomes
// unknown; all of it is looked at at once. What is final, and what the epoch is
// recorded at already, is left alone and absent from the result.
func (p Publisher) Bump(ctx context.Context, tx pgx.Tx, e operation.Epoch, ids []uuid.UUID) ([]Applied, error) {
	rows, err := operation.Lock(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	rows = slices.DeleteFunc(rows, func(l operation.Locked) bool { return l.State.Final() })
	recorded, err := e.RecordLost(ctx, tx, rows)
	if err != nil {
		return nil, err
	}
	var w writes
	var applied []Applied
	for _, row := range rows {
		if !recorded[row.ID] {
			continue
		}
		to := known{row: row}.bumped()
		if _, err := p.collect(&w, 0, operation.Move{From: row, To: to}); err != nil {
			return nil, err
		}
		applied = append(applied, Applied{OperationID: row.ID, From: row.State, To: to.State, Fence: to.Fence})
	}
	return applied, w.send(ctx, tx)
}

// bumped is the standing after a bump. What the provider had taken stays pending, and
// whoever waits for a person goes on to.
func (k known) bumped() operation.Standing {
	to := k.open(payment.OperationUnknown, Outcome{})
	to.Fence = k.row.Fence + operation.LostFenceJump
	if k.row.State == payment.OperationPending {
		to.State = payment.OperationPending
	}
	to.NextCheckAt, to.WaitsFor, to.Reason = &k.row.Now, k.row.WaitsFor, k.row.Reason
	waited := k.row.State == payment.OperationCreated || k.row.State == payment.OperationProcessing
	if waited && to.WaitsFor == operation.Machine {
		to.Reason = new(ReasonCommitsLost)
	}
	return to
}

// BumpAll records an epoch at everything that is open, in small transactions, and
// tells after each how many operations it was recorded at. Cases come before that, and
// those whose next step is the machine's are handed to a person. It may be stopped at any moment
// and called again.
//
// It ends only when every transaction that was open as it began has ended: an accept
// may have read the clock before the bump and commit after we have passed its id.
func (p Publisher) BumpAll(ctx context.Context, pool *pgxpool.Pool, e operation.Epoch, told func(done int)) error {
	if err := p.bumpCases(ctx, pool, e); err != nil {
		return err
	}
	mark, err := operation.MarkTransactions(ctx, pool)
	if err != nil {
		return err
	}
	for done := 0; ; {
		ended, err := mark.Ended(ctx, pool)
		if err != nil {
			return err
		}
		moved, err := p.bumpPass(ctx, pool, e, func(n int) {
			done += n
			told(done)
		})
		if err != nil || (ended && moved == 0) {
			return err
		}
		if moved > 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(bumpPause):
		}
	}
}

// bumpPass goes once over what is open, by id.
func (p Publisher) bumpPass(ctx context.Context, pool *pgxpool.Pool, e operation.Epoch, told func(int)) (int, error) {
	moved, after := 0, uuid.Nil
	for {
		page, err := e.OpenAt(ctx, pool, after, bumpPageMax)
		if err != nil || len(page) == 0 {
			return moved, err
		}
		after = page[len(page)-1]
		for ids := range slices.Chunk(page, bumpGroupMax) {
			var applied []Applied
			err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
				applied, err = p.Bump(ctx, tx, e, ids)
				return err
			})
			if err != nil {
				return moved, err
			}
			moved += len(applied)
			told(len(applied))
		}
	}
}
