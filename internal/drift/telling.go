package drift

import (
	"context"
	"crypto/sha256"
	"fmt"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
)

// word is what the entry says, held against what was asked for (B3). Its hash is over
// the entry, because no page is kept.
func (s seen) word() *outcome.Outcome {
	entry := fmt.Sprintf("%q %q %q %s %d %q %d", s.ObjectID, s.Reference, s.Kind, s.Verdict, s.Amount.Minor(), s.Amount.Currency(),
		s.CreatedAt.UnixNano())
	hash := sha256.Sum256([]byte(entry))
	answer := provider.CheckEcho(provider.Operation{Amount: s.about.amount}, provider.Answer{
		Verdict: s.Verdict, Amount: s.Amount, ObjectID: s.ObjectID, Hash: hash[:],
	})
	return &outcome.Outcome{PaymentID: s.about.payment, Learned: outcome.Learned(s.about.id, evidence.List, answer, s.askedAt)}
}

// apply applies what a movement tells. What a rule would give back, because the books
// have other money already, is told only after the provider was asked about that.
func (w *work) apply(ctx context.Context, s seen, v weight, next *Scan) error {
	if v.first {
		lifecycle.Wait(ctx, ReadInterval)
		about, err := w.lookUp(ctx, s.about.id)
		if err != nil {
			return err
		}
		_, asked, err := w.ask(ctx, question{LookedUp: about})
		if asked {
			next.Asked++
		}
		if err != nil {
			return err
		}
	}
	if v.tells == nil {
		return nil
	}
	if err := w.tell(ctx, *v.tells); err != nil {
		return err
	}
	next.Told++
	return nil
}

func (w *work) tell(ctx context.Context, o outcome.Outcome) error {
	applied, err := w.Applier.Do(ctx, o)
	if err != nil {
		return fmt.Errorf("applying what the list of %s says about operation %s: %w", w.scan.ProviderAccount, o.Learned.OperationID, err)
	}
	fields := []zap.Field{zap.Stringer("operation_id", applied.OperationID), zap.String("from", string(applied.From)), zap.String("to", string(applied.To))}
	if applied.Contradiction {
		w.Log.Error(outcome.ContradictionMessage, append(fields, zap.Stringer("case_id", applied.CaseID))...)
		return nil
	}
	w.Log.Info("a list told what nobody here knew", fields...)
	return nil
}
