package outcome

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// story is what happens to a few operations, in memory: decide as it is, and
// around it a second, plain telling of what operation's SQL does to a row. The
// same story is told to PostgreSQL, and the two must not differ.
type story struct {
	now  time.Time
	cast []*known
	// taken are the payments whose invoice another one got after they had failed.
	taken map[uuid.UUID]bool
	// objections are what the database would say to moves that decide made.
	objections []string
}

const (
	storyLease     = 10 * time.Second
	storyAllowance = 5 * time.Second
	storyHorizon   = 2 * time.Minute
)

// action is one thing that happens, to one operation unless it says otherwise.
type action struct {
	kind     actionKind
	whom     int
	after    time.Duration // wait
	fence    int64         // order
	outcomes []Outcome     // tell; of any operations

	file   int                   // carry, judge: of the operation
	can    provider.Capabilities // carry
	by     uuid.UUID             // carry: the id of what is ordered
	choice casework.Action       // judge
}

type actionKind string

const (
	wait     actionKind = "wait"
	message  actionKind = "message"  // claims one operation
	due      actionKind = "due"      // claims what is due, of all operations
	order    actionKind = "order"    // a resend
	look     actionKind = "look"     // at everything whose next look is due
	takeOver actionKind = "takeOver" // of all leases that ran out
	expire   actionKind = "expire"   // of all operations past their last moment
	tell     actionKind = "tell"     // outcomes
	rival    actionKind = "rival"    // another payment wants the invoice
	carry    actionKind = "carry"    // the next step of a case
	judge    actionKind = "judge"    // a person decides about a case
)

// happens lets an action happen and returns what Apply returns, for tell.
func (s *story) happens(a action, chance float64) []Applied {
	switch a.kind {
	case wait:
		s.now = s.now.Add(a.after)
	case message:
		s.claim(s.cast[a.whom])
	case due:
		for _, k := range s.cast {
			s.due(k)
		}
	case order:
		s.order(s.cast[a.whom], a.fence)
	case look:
		for _, k := range s.cast {
			s.look(k)
		}
	case takeOver:
		for _, k := range s.cast {
			s.takeOver(k)
		}
	case expire:
		for _, k := range s.cast {
			s.expire(k)
		}
	case tell:
		return s.tell(a.outcomes, chance)
	case rival:
		if k := s.cast[a.whom]; k.row.State == payment.OperationFailed && k.row.CaseID == nil {
			s.taken[k.row.PaymentID] = true
		}
	case carry:
		s.carry(a)
	case judge:
		s.judge(a)
	}
	return nil
}

func (s *story) timely(k *known) bool {
	return k.row.ChargeBefore == nil || s.now.Before(*k.row.ChargeBefore)
}

func (s *story) claim(k *known) {
	if k.row.State == payment.OperationCreated && s.timely(k) && !held(k) && !s.returned(k) {
		k.row.State, k.row.Reason = payment.OperationProcessing, nil
		s.lease(k)
	}
}

// returned reports that another operation of the same case may have given its money back.
func (s *story) returned(k *known) bool {
	return k.row.CaseID != nil && s.heldBeside(k, k.files[0])
}

func (s *story) lease(k *known) {
	until := s.now.Add(storyLease)
	k.row.Fence++
	k.row.LeaseUntil, k.row.NextAttemptAt, k.row.ResendFence = &until, nil, nil
	k.attempts = append(k.attempts, operation.PastAttempt{
		OperationID: k.row.ID, Fence: k.row.Fence, ClaimedAt: s.now, LeaseUntil: until, LastPossibleSend: until.Add(storyAllowance),
	})
}

func (s *story) due(k *known) {
	if k.row.NextAttemptAt == nil || k.row.NextAttemptAt.After(s.now) {
		return
	}
	if k.row.State == payment.OperationCreated {
		s.claim(k)
		return
	}
	first := slices.IndexFunc(k.attempts, func(a operation.PastAttempt) bool { return !a.NotSent })
	if s.timely(k) && !held(k) && !s.returned(k) && !k.closing() && first >= 0 && s.now.Before(k.attempts[first].ClaimedAt.Add(storyHorizon)) {
		k.row.NextCheckAt = nil
		s.lease(k)
		return
	}
	at := s.now.Add(max(time.Second, min(time.Hour, s.now.Sub(*k.row.OpenSince))))
	k.row.ResendFence, k.row.NextAttemptAt, k.row.NextCheckAt = nil, nil, &at
}

func (s *story) order(k *known, fence int64) {
	if k.row.State == payment.OperationUnknown && k.row.Fence == fence && k.row.LeaseUntil == nil && !k.closing() {
		at, end := s.now, s.now.Add(operation.OrderPatience)
		k.row.ResendFence, k.row.NextAttemptAt, k.row.NextCheckAt = &fence, &at, &end
	}
}

func (s *story) look(k *known) {
	open := k.row.State == payment.OperationPending || k.row.State == payment.OperationUnknown
	if k.row.NextCheckAt == nil || k.row.NextCheckAt.After(s.now) || (!open && k.row.WaitsFor != operation.Person) {
		return
	}
	next := s.now.Add(storyLease)
	k.row.NextCheckAt, k.row.Checks = &next, k.row.Checks+1
	k.row.ResendFence, k.row.NextAttemptAt = nil, nil
}

func (s *story) takeOver(k *known) {
	if k.row.LeaseUntil == nil || !k.row.LeaseUntil.Before(s.now) {
		return
	}
	at, since := s.now, s.now
	if k.row.OpenSince != nil {
		since = *k.row.OpenSince
	}
	k.row.Standing = operation.Standing{
		State: payment.OperationUnknown, Reason: new(ReasonLeaseRanOut), Fence: k.row.Fence + 1, NextCheckAt: &at, Checks: k.row.Checks,
		OpenSince: &since, WaitsFor: operation.Machine, ProviderObjectID: k.row.ProviderObjectID,
	}
}

func (s *story) expire(k *known) {
	if k.row.State == payment.OperationCreated && !s.timely(k) && shut(k) && !held(k) {
		k.row.Standing = operation.Standing{
			State: payment.OperationFailed, Reason: new(ReasonExpired), Fence: k.row.Fence + 1, Checks: k.row.Checks,
			OpenSince: k.row.OpenSince, WaitsFor: operation.Machine, ProviderObjectID: k.row.ProviderObjectID,
		}
	}
}

func (s *story) tell(outcomes []Outcome, chance float64) []Applied {
	var applied []Applied
	for _, o := range outcomes {
		k := s.named(o.Learned.OperationID)
		if k.neverWas(o) {
			applied = append(applied, k.unmoved())
			continue
		}
		var w writes
		if err := w.learn(k, &o); err != nil {
			panic(err) // no entropy for an id
		}
		k.row.Now = s.now
		s.barAnothers(k)
		result := Applied{OperationID: k.row.ID, From: k.row.State}
		standings := decide(*k, o, chance)
		if len(standings) > 0 && k.row.State.Final() && k.row.CaseID != nil {
			s.withdraw(k)
		}
		for _, to := range standings {
			if why := refused(k, k.row.Standing, to); why != "" {
				s.objections = append(s.objections, fmt.Sprintf("%s -> %s: %s", k.row.State, to.State, why))
			}
			k.row = moved(k, to)
		}
		_, about := k.follow(o, result.From)
		s.nameCases()
		result.Contradiction = about != nil || o.Learned.Reason == provider.ReasonSeveralCharges
		s.noteHeld(k)
		result.To, result.Fence, result.WaitsFor = k.row.State, k.row.Fence, k.row.WaitsFor
		applied = append(applied, result)
	}
	return applied
}

// nameCases gives cases that opened an id.
func (s *story) nameCases() {
	for _, k := range s.cast {
		for _, f := range k.files {
			if f.ID == uuid.Nil {
				f.ID, f.UpdatedAt = uuid.New(), s.now
			}
		}
	}
}

// barAnothers tells a refund which movements cannot be its own.
func (s *story) barAnothers(k *known) {
	if k.row.Kind != payment.KindRefund {
		return
	}
	k.bar(k.row.ProviderAccount, k.files[0].ProviderObjectID)
	for _, other := range s.cast {
		if other != k && other.row.Kind == payment.KindRefund && other.row.State == payment.OperationSucceeded && other.row.ProviderObjectID != nil {
			k.bar(k.row.ProviderAccount, *other.row.ProviderObjectID)
		}
	}
}

func (s *story) named(id uuid.UUID) *known {
	for _, k := range s.cast {
		if k.row.ID == id {
			return k
		}
	}
	return nil
}

// The rules once more, as the schema words them, so that cover.go is not judged
// by itself.

func no(e evidence.Evidence) bool {
	return e.Verdict == payment.VerdictDeclined || e.Verdict == payment.VerdictNotTaken
}

func tookPlace(k *known) bool {
	for _, e := range k.evidence {
		if e.Verdict == payment.VerdictCaptured && !gone(k, e) {
			return true
		}
	}
	return false
}

// proven: captured evidence of equal amount and currency, of nothing that is given back,
// and of no other refund's movement.
func proven(k *known) bool {
	for _, e := range k.evidence {
		if e.Verdict == payment.VerdictCaptured && e.Amount == k.row.Amount && len(live(k, e)) == 0 && !k.anothers[e.ProviderObjectID] {
			return true
		}
	}
	return false
}

// live are the operations that give back, or gave back, what evidence speaks of.
func live(k *known, e evidence.Evidence) []operation.Compensation {
	var found []operation.Compensation
	for _, f := range k.files {
		for _, c := range f.compensations {
			about := e.ProviderObjectID == "" || f.ProviderObjectID == e.ProviderObjectID
			if k.row.CaseID == nil && about && c.State != payment.OperationFailed && c.State != payment.OperationCanceled {
				found = append(found, c)
			}
		}
	}
	return found
}

// gone is evidence_is_undone(e, false).
func gone(k *known, e evidence.Evidence) bool {
	all, ended := 0, 0
	settled := slices.ContainsFunc(k.evidence, func(n evidence.Evidence) bool {
		return n.Source == evidence.Operator && no(n) && n.AskedAt.After(e.AskedAt)
	})
	for _, f := range k.files {
		about := (e.ProviderObjectID != "" && f.ProviderObjectID == e.ProviderObjectID) || (e.ProviderObjectID == "" && f.Amount == e.Amount)
		if k.row.CaseID != nil || f.Kind == casework.FailedAfterCaptured || !about {
			continue
		}
		all++
		enough := settled || (f.Amount.Currency() == e.Amount.Currency() && !e.Amount.IsZero() && f.Amount.Minor() >= e.Amount.Minor())
		back := slices.ContainsFunc(f.compensations, func(c operation.Compensation) bool {
			return c.State == payment.OperationSucceeded && (enough || c.Kind == payment.KindVoid)
		})
		if back || f.State == casework.Dismissed {
			ended++
		}
	}
	return all > 0 && all == ended
}

// stillHeld is provider_still_holds().
func stillHeld(k *known) bool {
	kept := *k
	kept.evidence = slices.DeleteFunc(slices.Clone(k.evidence), func(e evidence.Evidence) bool {
		return e.Verdict == payment.VerdictCaptured && gone(k, e)
	})
	return held(&kept)
}

// held is provider_may_hold().
func held(k *known) bool {
	for _, e := range k.evidence {
		denied := false
		for _, n := range k.evidence {
			denied = denied || (no(n) && n.AskedAt.After(e.AskedAt))
		}
		if e.Verdict == payment.VerdictCaptured || (e.Verdict == payment.VerdictPending && !denied) {
			return true
		}
	}
	return false
}

// uncovered is uncovered_attempts().
func uncovered(k *known) int {
	n := 0
	for _, a := range k.attempts {
		ok := a.NotSent
		for _, e := range k.evidence {
			ok = ok || (no(e) && ((e.Source == evidence.Answer && e.Fence == a.Fence) || (e.CoversEarlier && e.Fence > a.Fence) ||
				(!e.CoversUntil.IsZero() && !e.CoversUntil.Before(a.LastPossibleSend))))
		}
		if !ok {
			n++
		}
	}
	return n
}

// shut is attempts_that_may_return() = 0.
func shut(k *known) bool {
	for _, a := range k.attempts {
		ok := a.NotSent
		for _, e := range k.evidence {
			closure := e.Source == evidence.Closure && e.Verdict == payment.VerdictNotTaken &&
				!e.CoversUntil.IsZero() && !e.CoversUntil.Before(a.LastPossibleSend)
			declined := e.Source == evidence.Answer && e.Verdict == payment.VerdictDeclined && e.Fence == a.Fence
			ok = ok || closure || declined || (e.CoversEarlier && e.Fence > a.Fence)
		}
		if !ok {
			return false
		}
	}
	return true
}

// refused says why the database would refuse a move, or nothing.
func refused(k *known, from, to operation.Standing) string {
	switch {
	case to.Fence < from.Fence:
		return "the fence fell"
	case to.LeaseUntil != nil && to.State != payment.OperationProcessing && to.State != payment.OperationUnknown:
		return "a lease in " + string(to.State)
	case to.NextAttemptAt != nil && to.State != payment.OperationCreated && to.ResendFence == nil:
		return "due in " + string(to.State)
	case (to.State == payment.OperationPending || to.State == payment.OperationUnknown) &&
		to.NextCheckAt == nil && to.LeaseUntil == nil && to.ResendFence == nil:
		return "nobody looks again"
	case to.State == from.State:
		return ""
	case from.State.Final() && to.State == payment.OperationSucceeded && k.row.CaseID != nil:
		return unless(proven(k) && (k.files[0].State == casework.Open || k.files[0].State == casework.Working), "its case is closed")
	case !arrow(from.State, to.State):
		return "no such arrow"
	}
	switch to.State {
	case payment.OperationSucceeded:
		return unless(proven(k), "not proven")
	case payment.OperationFailed, payment.OperationCanceled:
		if from.State == payment.OperationCreated {
			return unless(shut(k) && !held(k), "the door is open")
		}
		return unless(uncovered(k) == 0 && !stillHeld(k), "not covered")
	case payment.OperationCreated:
		return unless(uncovered(k) == 0 && !held(k), "not covered")
	case payment.OperationPending:
		for _, e := range k.evidence {
			if e.Verdict == payment.VerdictPending {
				return ""
			}
		}
		return "not pending"
	case payment.OperationUnknown:
		return unless(from.State != payment.OperationCreated || held(k), "never sent")
	case payment.OperationProcessing:
		return unless(to.Fence > from.Fence && !held(k), "not to be claimed")
	}
	return ""
}

func unless(holds bool, why string) string {
	if holds {
		return ""
	}
	return why
}

func arrow(from, to payment.OperationState) bool {
	return slices.Contains(payment.Arrows(), payment.Arrow{From: from, To: to})
}
