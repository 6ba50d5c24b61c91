package reconcile

import (
	"context"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
)

// Ask has the provider say how it stands with an operation that is final here, and
// applies that; a contradiction opens its case. The caller has seen to it that the
// operation was not sent to another account than the one that is configured now. An
// operation about which the provider cannot be asked is answered unclear.
func (r *Reconciler) Ask(ctx context.Context, about operation.LookedUp) (provider.Answer, outcome.Applied, error) {
	connector := r.Accounts[about.ProviderAccount]
	l := look{
		Reconciler: r, check: about.Check, connector: connector,
		stand: operation.Stand{OperationID: about.OperationID, Fence: about.Fence},
	}
	if !l.capabilities().Inquiry.Supported {
		return provider.Answer{Reason: provider.ReasonUnsupported}, outcome.Applied{}, nil
	}
	answer := connector.Inquire(ctx, l.request())
	o := l.learned(evidence.Inquiry, answer)
	if l.covers(answer) {
		o.Learned.CoversUntil = about.AskedAt.Add(-connector.Capabilities().Inquiry.Grace)
	}
	applied, err := r.Applier.Do(ctx, o)
	if err != nil {
		return answer, applied, err
	}
	if applied.Contradiction {
		r.Log.Error(outcome.ContradictionMessage, zap.Stringer("operation_id", about.OperationID), zap.Stringer("case_id", applied.CaseID))
	}
	return answer, applied, nil
}
