package casework

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// Action is what a person decides about a case.
type Action string

// The actions. Refund and Adopt are orders that the reconciler carries out; an
// adoption that is not possible any more comes back to a person, or ends in a
// refund. Dismiss closes the case at once and moves no money at the provider: what
// stands in suspense is booked back against the provider, because the person says
// that there is no such money besides what is booked, or has sent it back by hand.
const (
	Refund  Action = "refund"
	Adopt   Action = "adopt"
	Dismiss Action = "dismiss"
)

// Decision is what a person decides, and why.
type Decision struct {
	Action Action
	// Version is the case's version that the person saw: a decision is about what
	// was seen, and falls when the case has moved since.
	Version int64
	Who     string // up to 200 characters
	Reason  string // in the person's own words, up to 2000 characters
}

// Beginner is a pool, or a transaction that the decision shall be part of.
type Beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

// Decide records a decision and makes it the case's plan, or closes the case.
//
// Errors: ErrNoSuchCase, ErrNotOpen, ErrMoved, and ErrDoesNotFit with the reason: a
// refund needs money in suspense under a name that the provider gave it and that is
// not the charge's own, and an adoption needs a failed charge of exactly that amount;
// neither may be about money that may have gone back already. What the provider denies
// in its newest word is not adopted.
func Decide(ctx context.Context, db Beginner, id uuid.UUID, d Decision) (Case, error) {
	if strings.TrimSpace(d.Who) == "" || strings.TrimSpace(d.Reason) == "" {
		return Case{}, errors.New("a decision needs a name and a reason")
	}
	var decided Case
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		c, charge, err := lock(ctx, tx, id)
		if err != nil {
			return err
		}
		to, err := d.standing(c, charge)
		if err != nil {
			return err
		}
		if err := d.believable(ctx, tx, c); err != nil {
			return err
		}
		m := Move{From: c.Case, To: to, By: Actor{Owner: operation.Person, Name: d.Who}, Reason: d.Reason}
		decided = m.After()
		var batch pgx.Batch
		QueueMove(&batch, m)
		if to.State == Dismissed && c.Suspended {
			ledger.Queue(&batch, []ledger.Posting{c.Held().Reverse()})
		}
		return tx.SendBatch(ctx, &batch).Close()
	})
	if err != nil {
		return Case{}, fmt.Errorf("deciding about case %s: %w", id, err)
	}
	return decided, nil
}

// lock holds a case through its payment and its charge. What is read before never
// changes but for where the case stands, which is read again.
func lock(ctx context.Context, tx pgx.Tx, id uuid.UUID) (Detail, operation.Locked, error) {
	before, err := Get(ctx, tx, id)
	if err != nil {
		return Detail{}, operation.Locked{}, err
	}
	charges, err := operation.Lock(ctx, tx, []uuid.UUID{before.OperationID})
	if err != nil {
		return Detail{}, operation.Locked{}, err
	}
	now, err := Get(ctx, tx, id)
	if err != nil {
		return Detail{}, operation.Locked{}, err
	}
	return now, charges[0], nil
}

func (d Decision) standing(c Detail, charge operation.Locked) (Standing, error) {
	to := c.Standing
	to.WaitsFor = operation.Machine
	switch {
	case c.State != Open:
		return to, fmt.Errorf("it is %s: %w", c.State, ErrNotOpen)
	case c.Version != d.Version:
		return to, fmt.Errorf("it is at version %d, not %d: %w", c.Version, d.Version, ErrMoved)
	}
	switch d.Action {
	case Refund:
		to.Plan = PlanRefund
		return to, c.Refundable(ownMovement(charge), c.Compensations)
	case Adopt:
		to.Plan = PlanAdopt
		return to, c.Adoptable(charge, c.Compensations)
	case Dismiss:
		to.State, to.WaitsFor = Dismissed, operation.Person
		return to, nil
	}
	return to, fmt.Errorf("%q is nothing to decide: %w", d.Action, ErrDoesNotFit)
}

// believable refuses to adopt what the reconciler would hand back at once. A webhook does
// not answer a no; the provider's list does, and an inquiry.
func (d Decision) believable(ctx context.Context, tx pgx.Tx, c Detail) error {
	if d.Action != Adopt {
		return nil
	}
	denied, err := operation.IsDenied(ctx, tx, c.OperationID, c.ProviderObjectID)
	if err == nil && denied {
		err = fmt.Errorf("the provider's newest word about %s is a no; a drift scan over the time of the payment hears whether it is there after all: %w",
			c.ProviderObjectID, ErrDoesNotFit)
	}
	return err
}

// ownMovement is what the row of a charge that succeeded names.
func ownMovement(charge operation.Locked) string {
	if charge.State != payment.OperationSucceeded || charge.ProviderObjectID == nil {
		return ""
	}
	return *charge.ProviderObjectID
}

// Refundable says why a refund of the case would take more than its own money, or is
// nil. own names what the charge succeeded with, empty when it has not succeeded or
// nothing names it; tried are the refunds and voids of the case.
func (c Case) Refundable(own string, tried []operation.Compensation) error {
	switch {
	case c.Of == payment.KindRefund:
		return fmt.Errorf("what was refunded is not given back: %w", ErrDoesNotFit)
	case !c.Suspended:
		return fmt.Errorf("it holds no money: %w", ErrDoesNotFit)
	case c.ProviderObjectID == "":
		return fmt.Errorf("the provider has not named the movement: %w", ErrDoesNotFit)
	case own == c.ProviderObjectID:
		return fmt.Errorf("the movement is the charge's own: %w", ErrDoesNotFit)
	}
	return untouched(tried)
}

// Adoptable says why a charge or refund cannot adopt the case's money, or is nil.
func (c Case) Adoptable(about operation.Locked, tried []operation.Compensation) error {
	if c.Kind != CapturedAfterFailed || !c.Suspended || c.Amount != about.Amount || about.State == payment.OperationSucceeded {
		return fmt.Errorf("only what failed and was of exactly this amount can be adopted: %w", ErrDoesNotFit)
	}
	if !about.FitsPayment() {
		return fmt.Errorf("the payment's refunds would exceed what was captured: %w", ErrDoesNotFit)
	}
	return untouched(tried)
}

// untouched refuses money that may have gone back already.
func untouched(tried []operation.Compensation) error {
	for _, earlier := range tried {
		if earlier.MayHold || earlier.Live() {
			return fmt.Errorf("operation %s may have given it back already: %w", earlier.OperationID, ErrDoesNotFit)
		}
	}
	return nil
}
