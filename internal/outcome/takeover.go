package outcome

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// TakeOver ends leases that ran out: the operation becomes unknown with a new
// fence, so that the worker which held the lease is stale from here on, and is
// looked at at once (U3). Nothing is concluded from the silence itself. At most
// limit operations of the given accounts; each goes to one caller.
func (p Publisher) TakeOver(ctx context.Context, tx pgx.Tx, accounts []string, limit int) ([]Applied, error) {
	rows, err := operation.LockExpired(ctx, tx, accounts, limit)
	if err != nil {
		return nil, err
	}
	var w writes
	applied := make([]Applied, len(rows))
	for i, row := range rows {
		to := known{row: row}.open(payment.OperationUnknown, Outcome{})
		to.Reason, to.NextCheckAt = new(ReasonLeaseRanOut), &row.Now
		if _, err := p.collect(&w, 0, operation.Move{From: row, To: to}); err != nil {
			return nil, err
		}
		applied[i] = Applied{OperationID: row.ID, From: row.State, To: to.State, Fence: to.Fence}
	}
	return applied, w.send(ctx, tx)
}

// Expire fails operations whose last moment passed before they were sent. One
// that was answered "not taken" before is failed only once the door is closed at
// the provider: a late copy of that attempt could still be taken. Until then it
// is returned in doorOpen for the caller to close.
func (p Publisher) Expire(ctx context.Context, tx pgx.Tx, accounts []string, limit int) (expired []Applied, doorOpen []operation.Locked, err error) {
	operations, payments, err := operation.Overdue(ctx, tx, accounts, limit)
	if err != nil || len(operations) == 0 {
		return nil, nil, err
	}
	locked, err := lockAll(ctx, tx, locks{operations: operations, payments: payments, mayFail: payments})
	if err != nil {
		return nil, nil, err
	}
	var w writes
	for _, k := range locked {
		row := k.row
		if row.State != payment.OperationCreated || row.ChargeBefore == nil || row.Now.Before(*row.ChargeBefore) {
			continue
		}
		if !k.closed() || k.providerMayHold() {
			doorOpen = append(doorOpen, row)
			continue
		}
		to := k.settled(payment.OperationFailed, ReasonExpired, Outcome{})
		if _, err := p.collect(&w, 0, operation.Move{From: row, To: to}); err != nil {
			return nil, nil, err
		}
		expired = append(expired, Applied{OperationID: row.ID, From: row.State, To: to.State, Fence: to.Fence})
	}
	return expired, doorOpen, w.send(ctx, tx)
}
