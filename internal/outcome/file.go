package outcome

import (
	"slices"

	"github.com/google/uuid"

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
// what has a case over the same amount; one with a name gives it to such a case that is
// open. A closed one without a name takes none in: what was found since is news, and
// what an adopted charge is called is the charge's own.
func (k *known) fileOf(e evidence.Evidence) (*file, []step) {
	if f := k.fileNamed(e.ProviderObjectID); f != nil {
		return f, nil
	}
	for _, f := range k.files {
		switch {
		case f.Kind == casework.FailedAfterCaptured || f.Amount != e.Amount:
		case e.ProviderObjectID == "":
			return f, nil
		case f.ProviderObjectID == "" && f.State == casework.Open:
			return f, []step{k.name(f, e)}
		}
	}
	return nil, nil
}

// name gives a case the name of its movement, and with it a plan. What is due already
// was ordered by a person, because no rule moves what has no name, and stays.
func (k *known) name(f *file, e evidence.Evidence) step {
	to := f.Standing
	to.ProviderObjectID = e.ProviderObjectID
	if f.WaitsFor != operation.Machine {
		to.Plan, to.WaitsFor = k.plan(f.Kind, e, f.Suspended), operation.Machine
		if to.Plan == casework.PlanPerson {
			to.WaitsFor = operation.Person
		}
	}
	return f.move(to, reasonNamed)
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

// undone reports captured evidence of which every case that it speaks of has ended with
// the money gone, or with a person's word that there is none: the charge may fail. The
// database's evidence_is_undone() holds the same rule.
func (k known) undone(e evidence.Evidence) bool {
	if k.row.CaseID != nil {
		return false
	}
	found := false
	for _, f := range k.files {
		about := f.ProviderObjectID == e.ProviderObjectID
		if e.ProviderObjectID == "" {
			about = f.Amount == e.Amount
		}
		if f.Kind == casework.FailedAfterCaptured || !about {
			continue
		}
		if found = f.State == casework.Dismissed || k.gaveBack(f, e); !found {
			return false
		}
	}
	return found
}

// gaveBack reports that refunds or voids of the case gave back all that evidence speaks
// of, or what a person said later is nothing any more.
func (k known) gaveBack(f *file, e evidence.Evidence) bool {
	whole := f.Amount.Currency() == e.Amount.Currency() && f.Amount.Minor() >= e.Amount.Minor() && !e.Amount.IsZero()
	settled := slices.ContainsFunc(k.evidence, func(n evidence.Evidence) bool {
		return n.Source == evidence.Operator && saysNo(n) && n.AskedAt.After(e.AskedAt)
	})
	return slices.ContainsFunc(f.compensations, func(c operation.Compensation) bool {
		return c.State == payment.OperationSucceeded && (c.Kind == payment.KindVoid || whole || settled)
	})
}

// beingUndone reports captured evidence of a movement that is being given back, or of
// which something has been: nothing can succeed with that movement any more, nor with
// one that has no name and could be that one.
func (k known) beingUndone(e evidence.Evidence) bool {
	return k.row.CaseID == nil && slices.ContainsFunc(k.files, func(f *file) bool {
		about := e.ProviderObjectID == "" || f.ProviderObjectID == e.ProviderObjectID
		return about && slices.ContainsFunc(f.compensations, operation.Compensation.Live)
	})
}

// superseded are the refunds and voids that wait to be sent while one that had been
// given up turns out to have taken place. They are withdrawn before it counts.
func (k known) superseded() []uuid.UUID {
	var waiting []uuid.UUID
	for _, c := range k.files[0].compensations {
		if c.OperationID != k.row.ID && c.Withdrawable {
			waiting = append(waiting, c.OperationID)
		}
	}
	return waiting
}

// withdrawn is a refund or void that is not sent any more.
func (k known) withdrawn() operation.Standing {
	return k.settled(payment.OperationCanceled, ReasonSuperseded, Outcome{})
}

// note keeps where a compensation stands.
func (f *file) note(k *known) {
	for i := range f.compensations {
		if c := &f.compensations[i]; c.OperationID == k.row.ID {
			c.State, c.MayHold = k.row.State, k.providerMayHold()
			c.Withdrawable = k.row.State == payment.OperationCreated && k.closed() && !c.MayHold
		}
	}
}

// move takes the case to another standing.
func (f *file) move(to casework.Standing, reason string) step {
	s := step{file: f, from: f.Case, to: to, reason: reason}
	f.Case = casework.Move{From: f.Case, To: to, By: casework.Machine}.After()
	return s
}

func (f *file) handToPerson(reason string) step {
	to := f.Standing
	to.State, to.Plan, to.WaitsFor = casework.Open, casework.PlanPerson, operation.Person
	return f.move(to, reason)
}
