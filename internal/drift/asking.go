package drift

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed unasked.sql
var unaskedSQL string

//go:embed answered.sql
var answeredSQL string

//go:embed ask_later.sql
var askLaterSQL string

// Asker asks a provider how it stands with an operation and applies what it says: an
// inquiry is the provider's authoritative word, which a list is not.
type Asker interface {
	Ask(ctx context.Context, about operation.LookedUp) (provider.Answer, outcome.Applied, error)
}

// askNext asks about one operation, or ends the scan when there is none left.
func (w *work) askNext(ctx context.Context) error {
	var id uuid.UUID
	var tries int
	next := w.scan
	err := w.Pool.QueryRow(ctx, unaskedSQL, w.scan.ID).Scan(&id, &tries)
	if errors.Is(err, pgx.ErrNoRows) {
		next.Phase = Done
		return w.scan.advance(ctx, w.Pool, next, func(pgx.Tx, *Scan) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("reading what to ask about: %w", err)
	}
	about, found, err := operation.LookUp(ctx, w.Pool, id)
	if err == nil && !found {
		err = fmt.Errorf("operation %s is gone", id)
	}
	if err != nil {
		return err
	}
	finds, asked, err := w.ask(ctx, about)
	if asked {
		next.Asked++
	}
	if err == nil {
		return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error { return answered(ctx, tx, next, about, finds) })
	}
	if tries+1 >= triesMax {
		w.Log.Error("the provider was asked about a difference and gave no plain answer", zap.Stringer("operation_id", id), zap.Error(err))
		return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error { return answered(ctx, tx, next, about, Unsettled) })
	}
	later := w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, _ *Scan) error {
		_, err := tx.Exec(ctx, askLaterSQL, w.scan.ID, id)
		return err
	})
	return errors.Join(err, later)
}

// ask returns what the answer leaves for a person. An error, which may be a provider
// that does not answer, leaves the question for later.
func (w *work) ask(ctx context.Context, about operation.LookedUp) (finds Kind, asked bool, err error) {
	succeeded := about.State == payment.OperationSucceeded
	switch {
	case !about.State.Final():
		return "", false, nil // the reconciler asks about what is open
	case !w.connector.Capabilities().Inquiry.Supported && succeeded:
		return NotListed, false, nil
	case !w.connector.Capabilities().Inquiry.Supported:
		return Unsettled, false, nil
	}
	answer, applied, err := w.Asker.Ask(ctx, about)
	if err != nil {
		return "", true, err
	}
	switch answer.Verdict {
	case payment.VerdictCaptured:
		return "", true, nil
	case payment.VerdictPending:
		return Unsettled, true, nil
	case payment.VerdictDeclined, payment.VerdictNotTaken:
		if succeeded && applied.CaseID == uuid.Nil {
			return NotListed, true, nil // the provider's no proves nothing, or not yet
		}
		return "", true, nil
	default:
		return "", true, fmt.Errorf("operation %s: %w: %s", about.OperationID, errNotAnswered, answer.Reason)
	}
}

// answered writes what has become of a question.
func answered(ctx context.Context, tx pgx.Tx, next *Scan, about operation.LookedUp, finds Kind) error {
	var open []Finding
	if finds != "" {
		open = append(open, Finding{
			Kind: finds, Reference: about.OperationID.String(), OperationID: about.OperationID, Movement: about.Kind, Amount: about.Amount,
		})
	}
	found, err := keep(ctx, tx, next.ProviderAccount, open)
	if err != nil {
		return err
	}
	next.Found += found
	for _, kind := range []Kind{NotListed, Unsettled} {
		if kind == finds {
			continue
		}
		e := explanation{account: next.ProviderAccount, kind: kind, reason: reasonAnswered}
		if err := explainAll(ctx, tx, e, []uuid.UUID{about.OperationID}); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, answeredSQL, next.ID, about.OperationID); err != nil {
		return fmt.Errorf("writing an answered question: %w", err)
	}
	return nil
}
