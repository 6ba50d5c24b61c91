package reconcile

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// closeExpired closes the door behind an operation that was answered "not taken"
// and whose last moment has passed since, so that the next round can fail it.
// Where the provider cannot close it, a person has to decide.
func (r *Reconciler) closeExpired(ctx context.Context, l operation.Locked) error {
	connector := r.Accounts[l.ProviderAccount]
	stand := operation.Stand{OperationID: l.ID, Fence: l.Fence}
	if !connector.Capabilities().VoidByReference {
		_, err := operation.HandToPerson(ctx, r.Pool, stand, outcome.ReasonDoorOpen)
		r.Log.Warn("expired, but the provider's door cannot be closed; a person must decide", zap.Stringer("operation_id", l.ID))
		return err
	}
	mine, err := r.sentHere(ctx, l, connector)
	if err == nil && !mine {
		return nil // a person has it
	}
	if err == nil {
		err = r.askToClose(ctx, l, connector)
	}
	// Closed or not, the next round is not at once: what cannot be closed now must
	// not stand in front of those that were never sent.
	_, putOff := operation.LookAgain(ctx, r.Pool, stand, closeAgain, operation.Machine)
	return errors.Join(err, putOff)
}

func (r *Reconciler) askToClose(ctx context.Context, l operation.Locked, connector provider.Connector) error {
	answer := connector.CloseDoor(ctx, provider.NewOperation(l.ID, l.Kind, l.Amount, l.ProviderObjectID))
	o := outcome.Outcome{PaymentID: l.PaymentID, Learned: outcome.Learned(l.ID, evidence.Closure, answer, l.Now), Others: answer.Others}
	if answer.Verdict == payment.VerdictNotTaken {
		o.Learned.CoversUntil = l.Now
	}
	_, err := r.tell(ctx, o)
	return err
}

// sentHere reports whether the connector opens the account that the operation was
// sent to. At another one there is no door of it to close.
func (r *Reconciler) sentHere(ctx context.Context, l operation.Locked, connector provider.Connector) (bool, error) {
	if err := connector.Identify(ctx); err != nil {
		return false, err
	}
	recipes, err := operation.Recipes(ctx, r.Pool, l.ID)
	if err != nil {
		return false, err
	}
	for _, recipe := range recipes {
		if !provider.SameAccount(recipe, connector.Recipe()) {
			_, err := operation.HandToPerson(ctx, r.Pool, operation.Stand{OperationID: l.ID, Fence: l.Fence}, provider.ReasonOtherAccount)
			return false, err
		}
	}
	return true, nil
}

// closeAgain is how long an operation whose door was asked to close is put off.
const closeAgain = 2 * time.Second
