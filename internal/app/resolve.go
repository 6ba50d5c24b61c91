package app

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Decided says what a decision did, or would do.
type Decided struct {
	OperationID uuid.UUID `json:"operationId"`
	From        string    `json:"from"`
	To          string    `json:"to"`
	Effect      string    `json:"effect"`
	Executed    bool      `json:"executed"`
}

// Resolution is a person's word about an operation that waits for one.
type Resolution struct {
	Operator
	OperationID uuid.UUID
	// Captured says that the provider holds the movement Object over Amount, which is
	// a decimal in the operation's currency. Otherwise the provider holds nothing and
	// will take nothing: the operation fails.
	Captured       bool
	Object, Amount string
}

// ResolveUnknown settles an operation by a person's word, which is stored as evidence
// together with what was said. It is ErrRefused for an operation that does not wait
// for a person, for another amount than was asked for, while captured evidence stands
// that has not been given back, and while an attempt may still be under way.
func ResolveUnknown(ctx context.Context, environ []string, r Resolution) (Decided, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return Decided{}, err
	}
	defer d.close()
	decided := Decided{OperationID: r.OperationID, Executed: r.Execute}
	err = d.within(ctx, r.Execute, func(tx pgx.Tx) error {
		about, err := find(ctx, tx, r.OperationID)
		if err != nil {
			return err
		}
		said, err := r.statement(about)
		if err != nil {
			return err
		}
		word, err := said.Evidence()
		if err != nil {
			return err
		}
		applied, err := d.publisher.Apply(ctx, tx, []outcome.Outcome{{PaymentID: about.PaymentID, Learned: word, Settle: true}})
		if err != nil {
			return err
		}
		decided.From, decided.To = string(applied[0].From), string(applied[0].To)
		decided.Effect = r.effect(about)
		if err := r.refusedBy(about, applied[0]); err != nil {
			return err
		}
		return said.Keep(ctx, tx)
	})
	return decided, err
}

// find reads the operation that a decision is about. Whether it still stands like that
// is found out under its lock.
func find(ctx context.Context, q operation.Querier, id uuid.UUID) (operation.LookedUp, error) {
	about, found, err := operation.LookUp(ctx, q, id)
	if err == nil && !found {
		err = fmt.Errorf("operation %s: %w: there is none", id, ErrRefused)
	}
	return about, err
}

func (r Resolution) statement(about operation.LookedUp) (evidence.Statement, error) {
	said := evidence.Statement{
		OperationID: about.OperationID, Verdict: payment.VerdictNotTaken, Who: r.By, Reason: r.Reason, AskedAt: about.AskedAt,
	}
	switch {
	case about.State.Final():
		return said, fmt.Errorf("operation %s is %s already: %w", about.OperationID, about.State, ErrRefused)
	case about.WaitsFor != operation.Person:
		return said, fmt.Errorf("operation %s is looked after by the machine: %w; `payctl unknown check` has it look now", about.OperationID, ErrRefused)
	case !r.Captured:
		return said, nil
	}
	amount, err := money.Parse(r.Amount, about.Amount.Currency())
	if err != nil {
		return said, fmt.Errorf("the amount %q in %s: %w: %w", r.Amount, about.Amount.Currency(), ErrRefused, err)
	}
	if amount != about.Amount {
		return said, fmt.Errorf("%s was asked for, not %s: %w; another amount is for a case", about.Amount, amount, ErrRefused)
	}
	said.Verdict, said.Amount, said.ProviderObjectID = payment.VerdictCaptured, amount, r.Object
	return said, nil
}

// refusedBy says why a person's word did not settle the operation, or nil when it did.
func (r Resolution) refusedBy(about operation.LookedUp, applied outcome.Applied) error {
	wanted := payment.OperationFailed
	if r.Captured {
		wanted = payment.OperationSucceeded
	}
	why := "evidence says that the provider holds it; see its case"
	switch {
	case applied.To == wanted:
		return nil
	case r.Captured:
		why = "that movement is being given back, or has been; see its case"
	case applied.From == payment.OperationCreated:
		why = "it waits to be sent, and a statement closes no door at the provider"
	case about.AskedAt.Before(about.LastPossibleSend):
		why = "an attempt may be under way until " + about.LastPossibleSend.UTC().Format(time.RFC3339)
	}
	return fmt.Errorf("operation %s stays %s: %w: %s", about.OperationID, applied.To, ErrRefused, why)
}

func (r Resolution) effect(about operation.LookedUp) string {
	switch {
	case about.Refund && r.Captured:
		return fmt.Sprintf("let the refund of %s of payment %s at %s have taken place as %s: it is booked, and its merchant is told",
			about.Amount, about.PaymentID, about.ProviderAccount, r.Object)
	case about.Refund:
		return fmt.Sprintf("let the refund of %s of payment %s fail: its merchant is told, and that much can be refunded again", about.Amount, about.PaymentID)
	case about.Kind != payment.KindCharge && r.Captured:
		return fmt.Sprintf("let the %s of %s at %s have taken place as %s, which closes its case", about.Kind, about.Amount, about.ProviderAccount, r.Object)
	case about.Kind != payment.KindCharge:
		return fmt.Sprintf("let the %s of %s at %s have failed; its case waits for a person then", about.Kind, about.Amount, about.ProviderAccount)
	case r.Captured:
		return fmt.Sprintf("let payment %s be captured with %s as %s at %s: it is booked, and its merchant is told",
			about.PaymentID, about.Amount, r.Object, about.ProviderAccount)
	}
	return fmt.Sprintf("let payment %s over %s fail: its merchant is told, and its invoice can be paid again", about.PaymentID, about.Amount)
}

// CheckUnknown has the provider asked about an operation now, by the machine.
func CheckUnknown(ctx context.Context, environ []string, id uuid.UUID, execute bool) (Decided, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return Decided{}, err
	}
	defer d.close()
	var decided Decided
	err = d.within(ctx, execute, func(tx pgx.Tx) error {
		about, err := find(ctx, tx, id)
		if err != nil {
			return err
		}
		open := about.State == payment.OperationPending || about.State == payment.OperationUnknown
		switch {
		case !open:
			return fmt.Errorf("operation %s is %s: %w: there is nothing to ask about", id, about.State, ErrRefused)
		case about.Busy:
			return fmt.Errorf("operation %s: %w: an attempt is under way or ordered, and is looked at after it", id, ErrRefused)
		}
		stand := operation.Stand{OperationID: id, Fence: about.Fence}
		due, err := operation.LookAgain(ctx, tx, stand, 0, operation.Machine)
		if err == nil && !due {
			err = fmt.Errorf("operation %s: %w: it has moved meanwhile; look again", id, ErrRefused)
		}
		decided = Decided{
			OperationID: id, From: string(about.State), To: string(about.State), Executed: execute,
			Effect: fmt.Sprintf("have the reconciler look at it at once, as far as %s can be asked", about.ProviderAccount),
		}
		return err
	})
	return decided, err
}
