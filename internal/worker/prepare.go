package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// errOvertaken says that somebody else has the operation, or another object for it.
var errOvertaken = errors.New("the attempt does not hold the operation any more")

// prepare makes what the provider needs before money can move, and stores its id
// before it says that the charge is ready. An operation whose object is stored
// already is ready: that very object is acted on, never a second one.
//
// Not ready is never a guess. The money-moving request was not made, whatever became
// of the preparation: an object whose id is not stored is acted on by nobody, so an
// answer that was lost costs an unused object and nothing else.
func (w *Worker) prepare(
	ctx context.Context, g *gate, a operation.Attempt, stop provider.StopDeadline,
) (op provider.Operation, refused provider.Answer, ready bool) {
	op = request(a)
	preparer, prepares := g.connector.(provider.Preparer)
	if !prepares || op.Kind != payment.KindCharge || op.ObjectID != "" {
		return op, provider.Answer{}, true
	}
	objectID, refused := preparer.Prepare(ctx, op, stop)
	if objectID == "" {
		return op, refused, false
	}
	if err := w.keepObject(ctx, a, objectID, stop); err != nil {
		return op, provider.Refused(provider.ReasonNotPrepared, fmt.Errorf("%w: %w", errNotTheProvider, err)), false
	}
	op.ObjectID = objectID
	return op, provider.Answer{}, true
}

// keepObject waits no longer for the database than anything may still be sent. When
// the answer to its commit is lost nothing is sent, and the next attempt finds the id
// or prepares again.
func (w *Worker) keepObject(ctx context.Context, a operation.Attempt, objectID string, stop provider.StopDeadline) error {
	ctx, cancel := context.WithTimeout(ctx, stop.Remaining(time.Now()))
	defer cancel()
	kept, err := operation.KeepObject(ctx, w.pool, a, objectID)
	switch {
	case err != nil:
		return err
	case !kept:
		return fmt.Errorf("%w: fence %d", errOvertaken, a.Fence)
	}
	return nil
}
