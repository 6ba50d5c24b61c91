package outcome

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// carry lets a case take its next step, if it is due.
func (s *story) carry(a action) {
	k := s.cast[a.whom]
	f := k.files[a.file]
	if !isDue(f) {
		return
	}
	k.row.Now = s.now
	ordered, own := f.MovedBy == operation.Person && f.Plan != casework.PlanAdopt, k.ownMovement()
	free := k.row.State != payment.OperationFailed || !s.taken[k.row.PaymentID]
	wasCaptured := k.row.State == payment.OperationSucceeded
	standing, _, kind := k.next(f, carrying{free: free, can: a.can})
	if standing != nil && (deniedLast(k, f.ProviderObjectID) || s.heldBeside(k, f)) {
		s.objections = append(s.objections, "adopted what the provider denies, or what may be given back")
	}
	if kind != "" && !ordered && (deniedLast(k, f.ProviderObjectID) || (wasCaptured && (deniedLast(k, own) || doubted(k)))) {
		s.objections = append(s.objections, "a rule gives back what could be the only money there is")
	}
	if standing != nil {
		k.row = moved(k, *standing)
	}
	if kind != "" {
		s.enter(k, f, kind, a.by)
	}
}

// moved is an operation after a move.
func moved(k *known, to operation.Standing) operation.Locked {
	after, err := operation.Move{From: k.row, To: to}.After()
	if err != nil {
		panic(err) // a story's refunds have sums
	}
	return after
}

// deniedLast is movement_is_denied().
func deniedLast(k *known, movement string) bool {
	var denied, dated []time.Time
	for _, e := range k.evidence {
		switch {
		case movement == "" || e.ProviderObjectID != movement:
		case no(e):
			denied = append(denied, e.AskedAt)
		case e.Verdict == payment.VerdictCaptured && e.Source != evidence.Webhook && e.Source != evidence.Settlement:
			dated = append(dated, e.AskedAt)
		}
	}
	return len(denied) > 0 && (len(dated) == 0 || !slices.MaxFunc(dated, time.Time.Compare).After(slices.MaxFunc(denied, time.Time.Compare)))
}

func doubted(k *known) bool {
	return slices.ContainsFunc(k.files, func(f *file) bool {
		return f.Kind == casework.FailedAfterCaptured && (f.State == casework.Open || f.State == casework.Working)
	})
}

// heldBeside reports that another refund or void of a case may have taken place.
func (s *story) heldBeside(k *known, f *file) bool {
	return slices.ContainsFunc(f.compensations, func(c operation.Compensation) bool {
		other := s.named(c.OperationID)
		return other != k && held(other)
	})
}

// withdraw cancels what waits beside a refund or void that took place after all.
func (s *story) withdraw(k *known) {
	for _, other := range s.cast {
		if other != k && other.row.CaseID != nil && *other.row.CaseID == *k.row.CaseID && !other.row.State.Final() {
			to := other.withdrawn()
			if why := refused(other, other.row.Standing, to); why != "" {
				s.objections = append(s.objections, "withdrawn: "+why)
			}
			other.row = moved(other, to)
			k.files[0].note(other)
		}
	}
}

func isDue(f *file) bool { return f.State == casework.Open && f.WaitsFor == operation.Machine }

// enter brings the operation that gives a case's money back on the stage.
func (s *story) enter(charge *known, f *file, kind payment.Kind, id uuid.UUID) {
	f.compensations = append(f.compensations, operation.Compensation{
		OperationID: id, CaseID: f.ID, Kind: kind, State: payment.OperationCreated,
	})
	now := s.now
	k := &known{files: []*file{f}, charge: charge, row: operation.Locked{
		ID: id, PaymentID: charge.row.PaymentID, MerchantID: charge.row.MerchantID, Kind: kind, Amount: f.Amount, CaseID: &f.ID,
		ProviderAccount: charge.row.ProviderAccount,
		Standing:        operation.Standing{State: payment.OperationCreated, NextAttemptAt: &now, WaitsFor: operation.Machine},
	}}
	s.cast = append(s.cast, k)
}

// noteHeld keeps what the cases know of a refund or void that something was told of.
func (s *story) noteHeld(k *known) {
	for _, f := range k.files {
		for i := range f.compensations {
			if f.compensations[i].OperationID == k.row.ID {
				f.compensations[i].MayHold = held(k)
			}
		}
	}
}

// follows keeps the states of refunds and voids that moved without being told of.
func (s *story) follows() {
	for _, k := range s.cast {
		if k.row.CaseID != nil {
			k.files[0].note(k)
		}
	}
}

// judge is a person's decision as Decide words it.
func (s *story) judge(a action) {
	f := s.cast[a.whom].files[a.file]
	if s.fits(a) {
		to := f.Standing
		to.WaitsFor = operation.Machine
		switch a.choice {
		case casework.Refund:
			to.Plan = casework.PlanRefund
		case casework.Adopt:
			to.Plan = casework.PlanAdopt
		case casework.Dismiss:
			to.State, to.WaitsFor = casework.Dismissed, operation.Person
		}
		f.move(to, "a person decided")
		f.MovedBy, f.UpdatedAt = operation.Person, s.now
	}
}

func (s *story) fits(a action) bool {
	k := s.cast[a.whom]
	f := k.files[a.file]
	tried := slices.ContainsFunc(f.compensations, func(c operation.Compensation) bool { return c.MayHold })
	own := k.row.State == payment.OperationSucceeded && k.row.ProviderObjectID != nil && *k.row.ProviderObjectID == f.ProviderObjectID
	switch a.choice {
	case casework.Refund:
		return f.State == casework.Open && f.Suspended && f.ProviderObjectID != "" && !own && !tried
	case casework.Adopt:
		return f.State == casework.Open && f.Suspended && f.Kind == casework.CapturedAfterFailed && f.Amount == k.row.Amount &&
			k.row.State != payment.OperationSucceeded && !tried && !deniedLast(k, f.ProviderObjectID)
	case casework.Dismiss:
		return f.State == casework.Open
	}
	return false
}

// drawWhom prefers what cases have brought forth, which comes late in a story.
func (s *story) drawWhom(t *rapid.T) int {
	var lately []int
	for i, k := range s.cast {
		if k.row.CaseID != nil || slices.ContainsFunc(k.files, isDue) {
			lately = append(lately, i)
		}
	}
	if len(lately) > 0 && rapid.IntRange(0, 2).Draw(t, "late") > 0 {
		return rapid.SampledFrom(lately).Draw(t, "whom")
	}
	return rapid.IntRange(0, len(s.cast)-1).Draw(t, "whom")
}

// drawCase chooses a case of a charge, when it has one.
func drawCase(t *rapid.T, k *known, a *action) {
	if k.row.CaseID != nil || len(k.files) == 0 {
		a.kind = wait
		return
	}
	a.file = rapid.IntRange(0, len(k.files)-1).Draw(t, "case")
	a.choice = rapid.SampledFrom([]casework.Action{casework.Refund, casework.Refund, casework.Adopt, casework.Dismiss}).Draw(t, "choice")
	a.can = rapid.SampledFrom([]provider.Capabilities{{Refunds: true, Voids: true}, {Refunds: true}, {Voids: true}, {}}).Draw(t, "can")
	a.by = uuid.New()
}

// checkCases holds what must hold of the cases after every step.
func (s *story) checkCases(t require.TestingT) {
	for _, k := range s.cast {
		if k.row.CaseID != nil {
			continue
		}
		seen := map[string]bool{}
		for _, f := range k.files {
			at := fmt.Sprintf("%s about %q: %+v", f.Kind, f.ProviderObjectID, f.Standing)
			movement := f.ProviderObjectID
			if movement == "" {
				movement = "unnamed " + f.Amount.String()
			}
			require.False(t, f.Suspended && seen[movement], "%s: suspended twice", at)
			seen[movement] = seen[movement] || f.Suspended
			open, given := 0, 0
			for _, c := range f.compensations {
				if !c.State.Final() {
					open++
				}
				if c.State == payment.OperationSucceeded {
					given++
				}
			}
			require.Equal(t, f.State == casework.Working, open == 1, at)
			require.LessOrEqual(t, open+given, 1, at)
			require.Equal(t, f.Resolution == casework.Refunded || f.Resolution == casework.Voided, given == 1, at)
			if k.row.State == payment.OperationSucceeded && k.row.ProviderObjectID != nil && open+given > 0 {
				require.NotEqual(t, *k.row.ProviderObjectID, f.ProviderObjectID, "%s: what the charge succeeded with is given back", at)
			}
			if f.Resolution == casework.Adopted {
				require.Equal(t, payment.OperationSucceeded, k.row.State, at)
			}
			require.False(t, f.Kind == casework.FailedAfterCaptured && f.Plan != casework.PlanPerson, at)
		}
	}
}
