package reconcile

import (
	"context"
	"slices"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// Ask has the provider say how it stands with an operation that is final here, and
// applies that; a contradiction opens its case. The caller has seen to it that the
// operation was not sent to another account than the one that is configured now. An
// operation about which the provider cannot be asked is answered unclear.
//
// The object is the charge's movement to ask about; empty for its own. That it is ours
// is checked by its reference. A no about another one than its own covers nothing.
func (r *Reconciler) Ask(ctx context.Context, about operation.LookedUp, object string) (provider.Answer, outcome.Applied, error) {
	other := false
	if object != "" && about.Kind == payment.KindCharge {
		other = about.ProviderObjectID != nil && *about.ProviderObjectID != object
		about.ProviderObjectID = &object
	}
	l := r.lookAtFinal(about)
	if !l.capabilities().Inquiry.Supported {
		return provider.Answer{Reason: provider.ReasonUnsupported}, outcome.Applied{}, nil
	}
	answer := l.connector.Inquire(ctx, l.request())
	if !other {
		answer = leftOut(answer, about)
	}
	o := l.learned(evidence.Inquiry, answer)
	if !other && l.covers(answer) {
		o.Learned.CoversUntil = about.AskedAt.Add(-l.connector.Capabilities().Inquiry.Grace)
	}
	applied, err := r.tell(ctx, o)
	return answer, applied, err
}

// lookAtFinal is a look that nothing was taken for: it asks, and moves no schedule.
func (r *Reconciler) lookAtFinal(about operation.LookedUp) look {
	return look{
		Reconciler: r, check: about.Check, connector: r.Accounts[about.ProviderAccount],
		stand: operation.Stand{OperationID: about.OperationID, Fence: about.Fence},
	}
}

// tell applies what was learned, and logs a contradiction.
func (r *Reconciler) tell(ctx context.Context, o outcome.Outcome) (outcome.Applied, error) {
	applied, err := r.Applier.Do(ctx, o)
	if err == nil && applied.Contradiction {
		r.Log.Error(outcome.ContradictionMessage, zap.Stringer("operation_id", applied.OperationID), zap.Stringer("case_id", applied.CaseID))
	}
	return applied, err
}

// leftOut adds to an answer about a charge that succeeded the no about its own movement,
// where other money is named and that is not. The story without: the provider has
// dropped what we charged and names a second try; a rule gives back the second one,
// which is the only money that there is. The no covers nothing and fails nothing: it
// leaves the second one's case to a person, until the provider names the first again.
func leftOut(a provider.Answer, about operation.LookedUp) provider.Answer {
	own := about.ProviderObjectID
	if about.State != payment.OperationSucceeded || about.Kind != payment.KindCharge || a.Verdict != payment.VerdictCaptured ||
		own == nil || a.ObjectID == "" || a.Names(*own) {
		return a
	}
	a.Others = append(slices.Clone(a.Others), provider.Movement{
		Reference: about.OperationID.String(), ObjectID: *own, Kind: about.Kind, Verdict: payment.VerdictNotTaken, Amount: about.Amount,
	})
	return a
}
