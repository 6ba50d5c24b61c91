package outcome

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// CarryOut takes a case's next step: its payment adopts the money, or a refund or void
// of it is ordered, or a person is asked because neither is possible. It returns the
// case as it stands then.
//
// The money is adopted only while no other live payment holds the invoice and the
// external reference, both of which are held again in the same transaction; otherwise
// it is given back. A case that has moved since it was taken is ErrMoved, and nothing
// happens. On any error the caller must roll back: the invoice may be held already.
func (p Publisher) CarryOut(ctx context.Context, tx pgx.Tx, due casework.Due, can provider.Capabilities) (casework.Case, error) {
	holder := uuid.Nil
	if due.Plan == casework.PlanAdopt {
		var err error
		if holder, err = operation.HoldAgain(ctx, tx, due.PaymentID); err != nil {
			return casework.Case{}, err
		}
	}
	locked, err := lockAll(ctx, tx, locks{operations: []uuid.UUID{due.OperationID}})
	if err != nil {
		return casework.Case{}, err
	}
	k, ok := locked[due.OperationID]
	if !ok {
		return casework.Case{}, fmt.Errorf("operation %s: %w", due.OperationID, ErrNoSuchOperation)
	}
	f := k.fileWith(due.CaseID)
	if f == nil || f.Version != due.Version {
		return casework.Case{}, fmt.Errorf("case %s: %w", due.CaseID, casework.ErrMoved)
	}
	var w writes
	if err := p.carry(&w, k, f, carrying{free: holder == due.PaymentID, can: can}); err != nil {
		return casework.Case{}, err
	}
	return f.Case, w.send(ctx, tx)
}

func (k *known) fileWith(id uuid.UUID) *file {
	for _, f := range k.files {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// carrying is what a step needs to know besides the case.
type carrying struct {
	free bool // the payment holds its invoice and its reference
	can  provider.Capabilities
}

// carry collects what a case's next step writes.
func (p Publisher) carry(w *writes, k *known, f *file, c carrying) error {
	standing, next, order := k.next(f, c)
	if standing != nil {
		m := operation.Move{From: k.row, To: *standing}
		w.moves = append(w.moves, []operation.Move{m})
		if err := p.tellOf(w, m); err != nil {
			return err
		}
		k.row = m.After()
	}
	if order != "" {
		if err := w.order(k, f, order); err != nil {
			return err
		}
	}
	return w.follow(k, []step{next})
}

// next decides a case's next step: the charge's new standing when it is adopted, what
// becomes of the case, and the kind of the operation to order.
func (k *known) next(f *file, c carrying) (*operation.Standing, step, payment.Kind) {
	reason := reasonOrdered
	if f.Plan == casework.PlanAdopt {
		if c.free && k.row.State != payment.OperationSucceeded {
			return k.adopted(f), k.resolveAdopted(f), ""
		}
		reason = reasonInvoiceTaken
		if !k.vouched(f.ProviderObjectID) {
			return nil, f.handToPerson(reasonUnvouched), ""
		}
	}
	kind := givenBackBy(c.can)
	if kind == "" || !k.mayGiveBack(f) {
		return nil, f.handToPerson(reasonNoWayBack), ""
	}
	to := f.Standing
	to.State, to.Plan, to.WaitsFor = casework.Working, casework.PlanRefund, operation.Machine
	if kind == payment.KindVoid {
		to.Plan = casework.PlanVoid
	}
	return nil, f.move(to, reason), kind
}

// adopted is the charge once its late money is its own.
func (k *known) adopted(f *file) *operation.Standing {
	to := k.settled(payment.OperationSucceeded, "", Outcome{})
	if f.ProviderObjectID != "" {
		to.ProviderObjectID = new(f.ProviderObjectID)
	}
	return &to
}

func (k *known) resolveAdopted(f *file) step {
	to := f.Standing
	to.State, to.Resolution, to.WaitsFor = casework.Resolved, casework.Adopted, operation.Machine
	s := f.move(to, reasonAdopted)
	s.books = ledger.Adoption
	return s
}

// givenBackBy is the kind of operation by which a provider gives money back; empty
// when it cannot.
func givenBackBy(can provider.Capabilities) payment.Kind {
	switch {
	case can.Refunds:
		return payment.KindRefund
	case can.Voids:
		return payment.KindVoid
	}
	return ""
}

// mayGiveBack reports whether a refund of the case takes nothing but its own money:
// the movement has a name, is not what the charge succeeded with, and no earlier
// refund of it may have moved it.
func (k *known) mayGiveBack(f *file) bool {
	own := k.row.State == payment.OperationSucceeded && k.ownMovement() == f.ProviderObjectID
	if !f.Suspended || f.ProviderObjectID == "" || own {
		return false
	}
	for _, c := range f.compensations {
		if c.MayHold || c.Live() {
			return false
		}
	}
	return true
}

// order adds a refund or void of a case to what is written, with its history.
func (w *writes) order(k *known, f *file, kind payment.Kind) error {
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("naming an operation: %w", err)
	}
	c := operation.Compensation{OperationID: id, CaseID: f.ID, Kind: kind, State: payment.OperationCreated}
	f.compensations = append(f.compensations, c)
	w.ordered = append(w.ordered, c)
	w.history = append(w.history, operation.History{
		PaymentID: k.row.PaymentID, OperationID: id, To: payment.OperationCreated, Reason: string(f.Kind),
	})
	return nil
}
