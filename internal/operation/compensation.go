package operation

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/pkg/payment"
)

// Compensation is a refund or void that gives back the money of a case. It is no
// refund of its payment: it counts nowhere in it, and moves nothing of it.
type Compensation struct {
	OperationID, CaseID uuid.UUID
	Kind                payment.Kind
	State               payment.OperationState
	// MayHold says that evidence speaks of it as taken or pending. Once that was
	// said, no other compensation of its case may be ordered or sent.
	MayHold bool
	// Withdrawable says that it waits to be sent, and that nothing of it can be under
	// way: it may be canceled.
	Withdrawable bool
}

// Live reports whether the compensation may still move money, or has.
func (c Compensation) Live() bool {
	return c.State != payment.OperationFailed && c.State != payment.OperationCanceled
}

//go:embed create_compensation.sql
var createCompensationSQL string

//go:embed compensations.sql
var compensationsSQL string

// QueueCompensation adds the statement that creates an operation for a case to a
// batch. The case must be open, and its payment locked. A case that already has one
// which has not failed ends the batch with the database's refusal.
func QueueCompensation(batch *pgx.Batch, c Compensation) {
	batch.Queue(createCompensationSQL, c.OperationID, c.CaseID, string(c.Kind)).Exec(expectTouched("creating a compensation", 1))
}

// Compensations returns all operations of the cases, oldest first.
func Compensations(ctx context.Context, q Querier, cases []uuid.UUID) (map[uuid.UUID][]Compensation, error) {
	rows, err := q.Query(ctx, compensationsSQL, cases)
	if err != nil {
		return nil, fmt.Errorf("reading compensations: %w", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Compensation])
	if err != nil {
		return nil, fmt.Errorf("reading compensations: %w", err)
	}
	byCase := map[uuid.UUID][]Compensation{}
	for _, c := range all {
		byCase[c.CaseID] = append(byCase[c.CaseID], c)
	}
	return byCase, nil
}
