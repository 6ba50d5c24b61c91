package outcome

import (
	"slices"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// file is one case with the operations that give its money back.
type file struct {
	casework.Case
	compensations []operation.Compensation
}

// fileOf finds the case that a captured word belongs to. One without a name speaks of
// what has a case over the same amount; one with a name gives it to such a case.
func (k *known) fileOf(e evidence.Evidence) (*file, []step) {
	if e.ProviderObjectID != "" {
		if f := k.fileNamed(e.ProviderObjectID); f != nil {
			return f, nil
		}
	}
	for _, f := range k.files {
		if f.Kind == casework.FailedAfterCaptured || f.Amount != e.Amount || (e.ProviderObjectID != "" && f.ProviderObjectID != "") {
			continue
		}
		if f.ProviderObjectID != "" || e.ProviderObjectID == "" || f.State != casework.Open {
			return f, nil
		}
		to := f.Standing
		to.ProviderObjectID, to.Plan, to.WaitsFor = e.ProviderObjectID, k.plan(f.Kind, e, f.Suspended), operation.Machine
		if to.Plan == casework.PlanPerson {
			to.WaitsFor = operation.Person
		}
		return f, []step{f.move(to, reasonNamed)}
	}
	return nil, nil
}

// fileNamed is the case about a movement, whatever its kind.
func (k *known) fileNamed(movement string) *file {
	for _, f := range k.files {
		if movement != "" && f.Kind != casework.FailedAfterCaptured && f.ProviderObjectID == movement {
			return f
		}
	}
	return nil
}

// undone reports captured evidence of money that has been given back, all of it. The
// database's evidence_is_undone() holds the same rule.
func (k known) undone(e evidence.Evidence) bool {
	f := k.fileNamed(e.ProviderObjectID)
	if f == nil || k.row.CaseID != nil {
		return false
	}
	refunded := f.Amount.Currency() == e.Amount.Currency() && f.Amount.Minor() >= e.Amount.Minor() && !e.Amount.IsZero()
	for _, c := range f.compensations {
		if c.State == payment.OperationSucceeded && (c.Kind == payment.KindVoid || refunded) {
			return true
		}
	}
	return false
}

// beingUndone reports captured evidence of a movement that is being given back, or of
// which something has been: nothing can succeed with that movement any more.
func (k known) beingUndone(e evidence.Evidence) bool {
	f := k.fileNamed(e.ProviderObjectID)
	return f != nil && k.row.CaseID == nil && slices.ContainsFunc(f.compensations, operation.Compensation.Live)
}

// note keeps where a compensation stands.
func (f *file) note(row operation.Locked) {
	for i := range f.compensations {
		if f.compensations[i].OperationID == row.ID {
			f.compensations[i].State = row.State
		}
	}
}

// move takes the case to another standing.
func (f *file) move(to casework.Standing, reason string) step {
	s := step{file: f, from: f.Case, to: to, reason: reason}
	f.Case = casework.Move{From: f.Case, To: to}.After()
	return s
}

func (f *file) handToPerson(reason string) step {
	to := f.Standing
	to.State, to.Plan, to.WaitsFor = casework.Open, casework.PlanPerson, operation.Person
	return f.move(to, reason)
}
