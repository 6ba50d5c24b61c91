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

// CarryOut takes a case's next step: its payment or refund adopts the money, or a refund
// or void of it is ordered, or a person is asked because neither is possible. It returns
// the case as it stands then.
//
// The money is adopted only while no other live payment holds the invoice and the
// external reference, both of which are held again in the same transaction; otherwise
// it is given back. A case that was there when commits were lost goes to a person, also
// where the bump has not come to it yet. One that has moved since it was taken is
// ErrMoved, and nothing happens. On any error the caller must roll back: the invoice may be held already.
func (p Publisher) CarryOut(ctx context.Context, tx pgx.Tx, due casework.Due, can provider.Capabilities) (casework.Case, error) {
	holder := uuid.Nil
	if due.Plan == casework.PlanAdopt && due.Of != payment.KindRefund {
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
	newest, bumped, err := operation.NewestEpoch(ctx, tx)
	if err != nil {
		return casework.Case{}, err
	}
	var w writes
	c := carrying{free: holder == due.PaymentID || due.Of == payment.KindRefund, lost: bumped && lostSince(f.Case, newest), can: can}
	if err := p.carry(&w, k, f, c); err != nil {
		return casework.Case{}, err
	}
	if holder == due.PaymentID && k.row.State != payment.OperationSucceeded {
		if err := operation.LetGo(ctx, tx, due.PaymentID); err != nil {
			return casework.Case{}, err
		}
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
	free bool // the payment holds its invoice and its reference, or keeps them as it is captured
	lost bool // commits were lost since the case last moved, and maybe a refund of it with them
	can  provider.Capabilities
}

// carry collects what a case's next step writes.
func (p Publisher) carry(w *writes, k *known, f *file, c carrying) error {
	standing, next, order := k.next(f, c)
	if standing != nil {
		m := operation.Move{From: k.row, To: *standing}
		w.moves = append(w.moves, []operation.Move{m})
		after, err := m.After()
		if err != nil {
			return err
		}
		if err := p.tellOf(w, m.From.State, after); err != nil {
			return err
		}
		k.row = after
	}
	if order != "" {
		if err := w.order(k, f, order); err != nil {
			return err
		}
	}
	return w.follow(k, []step{next})
}

// next decides a case's next step: the charge's new standing when it is adopted, what
// becomes of the case, and the kind of the operation to order. What plan asked when the
// case was opened is asked again: more may have been said since.
func (k *known) next(f *file, c carrying) (*operation.Standing, step, payment.Kind) {
	if c.lost {
		return nil, f.handToPerson(ReasonCommitsLost), ""
	}
	reason, doubt := reasonOrdered, k.doubt(f)
	if f.Plan == casework.PlanAdopt && doubt == "" {
		if c.free && k.row.State != payment.OperationSucceeded {
			return k.adopted(f), k.resolveAdopted(f), ""
		}
		reason = reasonInvoiceTaken
		if k.row.State == payment.OperationSucceeded {
			reason = reasonAlreadyCaptured
		}
		if !k.vouched(f.ProviderObjectID) {
			doubt = reasonUnvouched
		}
	}
	kind := givenBackBy(c.can)
	if doubt == "" && (kind == "" || !k.mayGiveBack(f)) {
		doubt = reasonNoWayBack
	}
	if doubt != "" {
		return nil, f.handToPerson(doubt), ""
	}
	to := f.Standing
	to.State, to.Plan, to.WaitsFor = casework.Working, casework.PlanRefund, operation.Machine
	if kind == payment.KindVoid {
		to.Plan = casework.PlanVoid
	}
	return nil, f.move(to, reason), kind
}

// doubt is why no rule takes the case's money any further, or empty. A person who
// orders a refund has seen it; nobody adopts what the provider says it does not hold,
// or what may have been given back.
func (k *known) doubt(f *file) string {
	if f.MovedBy == operation.Person && f.Plan != casework.PlanAdopt {
		return ""
	}
	_, provable := k.captured()
	switch {
	case k.denied(f.ProviderObjectID):
		return reasonDenied
	case k.row.State == payment.OperationSucceeded && !k.ownStands():
		return reasonOwnInDoubt
	case k.row.State != payment.OperationSucceeded && f.Plan == casework.PlanAdopt &&
		(provable == nil || f.Adoptable(k.row, f.compensations) != nil):
		if !k.row.FitsPayment() {
			return reasonBeyondLimit
		}
		return reasonMayBeGivenBack
	}
	return ""
}

// adopted is the charge once its late money is its own. A try of it that the provider
// denies is not what it succeeded with.
func (k *known) adopted(f *file) *operation.Standing {
	to := k.settled(payment.OperationSucceeded, "", Outcome{})
	switch {
	case f.ProviderObjectID != "":
		to.ProviderObjectID = new(f.ProviderObjectID)
	case to.ProviderObjectID != nil && k.denied(*to.ProviderObjectID):
		to.ProviderObjectID = nil
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

// mayGiveBack reports whether a refund of the case takes nothing but its own money.
// Where nothing names what the charge succeeded with, it could be this movement.
func (k *known) mayGiveBack(f *file) bool {
	own := ""
	if k.row.State == payment.OperationSucceeded {
		if own = k.ownMovement(); own == "" {
			return false
		}
	}
	return f.Refundable(own, f.compensations) == nil
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
