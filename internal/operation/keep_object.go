package operation

import (
	"context"
	_ "embed"
)

//go:embed keep_object.sql
var keepObjectSQL string

// KeepObject stores the provider's id of what was prepared for a charge by an attempt. It
// reports false when that attempt does not hold the operation any more, or another id is
// stored: then nothing may be sent. Once it has reported true the id is durable, and
// whoever takes the operation over finds it.
//
// The story without the fence: a worker freezes after it prepared, its lease is taken
// over, nobody finds an id and the operation is settled as never sent; the worker
// wakes up, stores the id and moves the money.
func KeepObject(ctx context.Context, q Querier, a Attempt, objectID string) (bool, error) {
	s := Stand{OperationID: a.OperationID, Fence: a.Fence}
	return s.update(ctx, q, "storing the prepared object of", keepObjectSQL, objectID, a.ClaimID)
}
