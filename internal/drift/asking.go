package drift

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"

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
// inquiry is the provider's authoritative word, which a list is not. The object is the
// charge's movement to ask about; empty for its own.
type Asker interface {
	Ask(ctx context.Context, about operation.LookedUp, object string) (provider.Answer, outcome.Applied, error)
}

// question is about one movement of an operation.
type question struct {
	operation.LookedUp

	object string // empty for the operation's own
}

// askNext asks about one movement, or ends the scan when there is none left.
func (w *work) askNext(ctx context.Context) error {
	var id uuid.UUID
	var q question
	var tries int
	next := w.scan
	err := w.Pool.QueryRow(ctx, unaskedSQL, w.scan.ID).Scan(&id, &q.object, &tries)
	if errors.Is(err, pgx.ErrNoRows) {
		next.Phase = Done
		return w.scan.advance(ctx, w.Pool, next, func(pgx.Tx, *Scan) error { return nil })
	}
	if err != nil {
		return fmt.Errorf("reading what to ask about: %w", err)
	}
	if q.LookedUp, err = w.lookUp(ctx, id); err != nil {
		return err
	}
	finds, asked, err := w.ask(ctx, q)
	if asked {
		next.Asked++
	}
	if err == nil {
		return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error { return answered(ctx, tx, next, q, finds) })
	}
	if tries+1 >= triesMax {
		w.Log.Error("the provider was asked about a difference and gave no plain answer", zap.Stringer("operation_id", id), zap.Error(err))
		return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error { return answered(ctx, tx, next, q, Unsettled) })
	}
	later := w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, _ *Scan) error {
		_, err := tx.Exec(ctx, askLaterSQL, w.scan.ID, id, q.object)
		return err
	})
	return errors.Join(err, later)
}

func (w *work) lookUp(ctx context.Context, id uuid.UUID) (operation.LookedUp, error) {
	about, found, err := operation.LookUp(ctx, w.Pool, id)
	if err == nil && !found {
		err = fmt.Errorf("operation %s is gone", id)
	}
	return about, err
}

// ask returns what the answer leaves for a person. An error, which may be a provider
// that does not answer, leaves the question for later.
//
// What a list named is asked about by its name. The story without: of a charge that
// failed with one object, another one is under way; the provider says that the first
// one failed, and what becomes of the other nobody hears.
func (w *work) ask(ctx context.Context, q question) (finds Kind, asked bool, err error) {
	if !q.State.Final() || !w.connector.Capabilities().Inquiry.Supported {
		return q.unasked(), false, nil
	}
	succeeded := q.State == payment.OperationSucceeded
	answer, applied, err := w.Asker.Ask(ctx, q.LookedUp, q.object)
	if err != nil {
		return "", true, err
	}
	switch answer.Verdict {
	case payment.VerdictCaptured:
		return q.left(answer), true, nil
	case payment.VerdictPending:
		return Unsettled, true, nil
	case payment.VerdictDeclined, payment.VerdictNotTaken:
		if succeeded && q.object == "" && applied.CaseID == uuid.Nil {
			return NotListed, true, nil // the provider's no proves nothing, or not yet
		}
		return "", true, nil
	default:
		return "", true, fmt.Errorf("operation %s: %w: %s", q.OperationID, errNotAnswered, answer.Reason)
	}
}

// unasked is what a question leaves that cannot be put, or not yet.
func (q question) unasked() Kind {
	switch {
	case q.object != "":
		return Unsettled
	case q.State == payment.OperationSucceeded:
		return NotListed
	}
	return "" // the reconciler asks about what is open, and no list told of what has failed
}

// left is what an answer that names captured money says nothing about: a provider that
// is asked by our reference may name another movement.
func (q question) left(a provider.Answer) Kind {
	switch {
	case q.Kind != payment.KindCharge:
		return ""
	case q.object != "" && !a.Names(q.object):
		return Unsettled
	case q.object == "" && q.State == payment.OperationSucceeded && q.ProviderObjectID != nil && !holds(a, *q.ProviderObjectID):
		return NotListed // what failed and took place after all has its case
	}
	return ""
}

// holds reports that the provider has taken the movement and not undone it.
func holds(a provider.Answer, object string) bool {
	return a.ObjectID == object || slices.ContainsFunc(a.Others, func(m provider.Movement) bool {
		return m.ObjectID == object && m.Verdict == payment.VerdictCaptured
	})
}

// answered writes what has become of a question.
func answered(ctx context.Context, tx pgx.Tx, next *Scan, about question, finds Kind) error {
	var open []Finding
	if finds != "" {
		open = append(open, Finding{
			Kind: finds, ObjectID: about.object, Reference: about.OperationID.String(), OperationID: about.OperationID,
			Movement: about.Kind, Amount: about.Amount,
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
		e := explanation{account: next.ProviderAccount, kind: kind, object: about.object, reason: reasonAnswered}
		if err := explainAll(ctx, tx, e, []uuid.UUID{about.OperationID}); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, answeredSQL, next.ID, about.OperationID, about.object); err != nil {
		return fmt.Errorf("writing an answered question: %w", err)
	}
	return nil
}
