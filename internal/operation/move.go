package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// Move takes a locked operation from where it was read to where it shall be.
type Move struct {
	From Locked   // as locked in this transaction, or as an earlier Move left it
	To   Standing // the whole standing afterwards
}

// After returns the operation as it is once the move is made. An error says that the
// payment's refunds come to no sum.
func (m Move) After() (Locked, error) {
	after := m.From
	after.Standing = m.To
	if after.Kind == payment.KindCharge {
		after.Payment.State, after.Payment.Reason = m.To.State.PaymentState(), m.To.Reason
	}
	var err error
	if after.Payment.Refunded, err = m.refunded(); err != nil {
		return m.From, fmt.Errorf("counting refund %s: %w", m.From.ID, err)
	}
	return after, nil
}

//go:embed move.sql
var moveSQL string

//go:embed project.sql
var projectSQL string

//go:embed release_identities.sql
var releaseIdentitiesSQL string

//go:embed lock_identities.sql
var lockIdentitiesSQL string

// QueueMoves adds the statements that make the moves to a batch: operations,
// then the payments above moved charges, the sums of refunds, and the release of the
// identities of payments that failed or were canceled. When the batch runs, a row that is not
// where it was read ends it with ErrMoved; a move that nothing proves ends it
// with the database's refusal. One operation may appear once in a call.
func QueueMoves(batch *pgx.Batch, moves []Move) {
	if len(moves) == 0 {
		return
	}
	batch.Queue(moveSQL, moveColumns(moves)...).Exec(expectTouched("moving operations", len(moves)))
	queueRefunded(batch, moves)
	var shown []Move
	var released []uuid.UUID
	for _, m := range moves {
		if m.From.Kind != payment.KindCharge {
			continue
		}
		shown = append(shown, m)
		if m.To.State == payment.OperationFailed || m.To.State == payment.OperationCanceled {
			released = append(released, m.From.PaymentID)
		}
	}
	if len(shown) > 0 {
		batch.Queue(projectSQL,
			postgres.Column(shown, func(m Move) uuid.UUID { return m.From.PaymentID }),
			postgres.Column(shown, func(m Move) string { return string(m.To.State.PaymentState()) }),
			postgres.Column(shown, func(m Move) *string { return m.To.Reason }),
			postgres.Column(shown, func(m Move) time.Time { return m.From.Now }),
		).Exec(expectTouched("showing payments", len(shown)))
	}
	if len(released) > 0 {
		batch.Queue(releaseIdentitiesSQL, released)
	}
}

// LockIdentities locks what QueueMoves may release. Call it before Lock for
// every payment that could fail in this transaction.
func LockIdentities(ctx context.Context, tx pgx.Tx, payments []uuid.UUID) error {
	if len(payments) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, lockIdentitiesSQL, payments); err != nil {
		return fmt.Errorf("locking identities: %w", err)
	}
	return nil
}

func moveColumns(moves []Move) []any {
	return []any{
		postgres.Column(moves, func(m Move) uuid.UUID { return m.From.ID }),
		postgres.Column(moves, func(m Move) string { return string(m.From.State) }),
		postgres.Column(moves, func(m Move) int64 { return m.From.Fence }),
		postgres.Column(moves, func(m Move) string { return string(m.To.State) }),
		postgres.Column(moves, func(m Move) *string { return m.To.Reason }),
		postgres.Column(moves, func(m Move) int64 { return m.To.Fence }),
		postgres.Column(moves, func(m Move) *time.Time { return m.To.LeaseUntil }),
		postgres.Column(moves, func(m Move) *time.Time { return m.To.NextAttemptAt }),
		postgres.Column(moves, func(m Move) *int64 { return m.To.ResendFence }),
		postgres.Column(moves, func(m Move) *time.Time { return m.To.NextCheckAt }),
		postgres.Column(moves, func(m Move) int { return m.To.Checks }),
		postgres.Column(moves, func(m Move) *time.Time { return m.To.OpenSince }),
		postgres.Column(moves, func(m Move) string { return string(m.To.WaitsFor) }),
		postgres.Column(moves, func(m Move) *string { return m.To.ProviderObjectID }),
		postgres.Column(moves, func(m Move) time.Time { return m.From.Now }),
	}
}
