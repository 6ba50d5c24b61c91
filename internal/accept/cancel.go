package accept

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// Canceled is the answer to a cancel, the same for every repeat.
type Canceled struct {
	Answer

	Replayed bool
}

// Cancel ends a payment that was surely never sent. It competes with a worker's claim
// for the payment's row, and exactly one of them gets it: a payment that was claimed
// first is left alone. One that is canceled already is answered in the same way.
//
// Errors: those of idempotency.CheckKey, *InvalidError, *BarrierError, ErrNoTurn,
// ErrBusy, ErrUnavailable.
func (a Amendments) Cancel(ctx context.Context, c Amendment) (Canceled, error) {
	if err := idempotency.CheckKey(c.IdempotencyKey); err != nil {
		return Canceled{}, err
	}
	// The key stands for the cancel, not for the payment, whose own key has an answer of
	// its own.
	name, err := uuid.NewV7()
	if err != nil {
		return Canceled{}, fmt.Errorf("naming a cancel: %w", err)
	}
	var done Canceled
	err = a.within(ctx, c, func(ctx context.Context, tx pgx.Tx) error {
		view, err := own(ctx, tx, c)
		if err != nil {
			return err
		}
		known, err := a.reserve(ctx, tx, idempotency.Entry{
			Scope:      idempotency.Scope{MerchantID: c.MerchantID, Route: RouteCancel, Key: c.IdempotencyKey},
			Request:    idempotency.Canonical{Method: http.MethodPost, Path: map[string]string{FieldID: c.PaymentID.String()}},
			ResourceID: name,
		}, c.barredKey())
		if err != nil {
			return err
		}
		if known != nil {
			done = Canceled{Answer{known.Status, known.Body}, true}
			return nil
		}
		done.Answer, err = a.cancel(ctx, tx, c, name, view.OperationID)
		return err
	})
	return done, err
}

// barredKey says that the key may be card data, which stands against a cancel whose key
// is new. It is nil when nothing does.
func (a Amendment) barredKey() *InvalidError {
	var barred InvalidError
	if a.ChecksIdentifiers {
		barred.refuseCard(FieldIdempotencyKey, a.IdempotencyKey)
	}
	if len(barred.Fields) == 0 {
		return nil
	}
	return &barred
}

// cancel takes the locks in their order, behind the key, and then decides.
func (a Amendments) cancel(ctx context.Context, tx pgx.Tx, c Amendment, name, charge uuid.UUID) (Answer, error) {
	if err := idempotency.LockByResource(ctx, tx, []uuid.UUID{c.PaymentID}); err != nil {
		return Answer{}, err
	}
	if err := operation.LockIdentities(ctx, tx, []uuid.UUID{c.PaymentID}); err != nil {
		return Answer{}, err
	}
	rows, err := operation.Lock(ctx, tx, []uuid.UUID{charge})
	if err != nil {
		return Answer{}, err
	}
	row, batch := rows[0], &pgx.Batch{}
	var view payment.View
	if row.State == payment.OperationCanceled {
		view, err = own(ctx, tx, c)
	} else {
		view, err = a.end(ctx, tx, c, row, batch)
	}
	if err != nil {
		return Answer{}, err
	}
	body, err := view.Encode()
	if err != nil {
		return Answer{}, err
	}
	idempotency.QueueAnswers(batch, []idempotency.Answer{
		{ResourceID: c.PaymentID, Status: http.StatusCreated, Body: body}, {ResourceID: name, Status: http.StatusOK, Body: body},
	})
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return Answer{}, fmt.Errorf("canceling payment %s: %w", c.PaymentID, err)
	}
	return Answer{http.StatusOK, body}, nil
}

// end adds the cancel of a payment to a batch, if it may still be canceled, and returns
// the payment as it is then.
func (a Amendments) end(ctx context.Context, tx pgx.Tx, c Amendment, row operation.Locked, batch *pgx.Batch) (payment.View, error) {
	may, err := operation.MayCancel(ctx, tx, row.ID)
	if err != nil {
		return payment.View{}, err
	}
	if !may {
		return payment.View{}, barred(ctx, tx, c, BarrierError{Barrier: BarrierNotCancelable})
	}
	after, err := a.queueCancel(batch, c, row) //nolint:contextcheck // a trace context is read from a header, nothing is waited for
	return after.View(), err
}

// queueCancel adds the move to a batch, with all that must commit with it, and returns
// the row as it is then.
func (a Amendments) queueCancel(batch *pgx.Batch, c Amendment, row operation.Locked) (operation.Locked, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return row, fmt.Errorf("naming an event: %w", err)
	}
	m := operation.Move{From: row, To: operation.Standing{
		State: payment.OperationCanceled, Fence: row.Fence + 1, Checks: row.Checks, OpenSince: row.OpenSince,
		WaitsFor: operation.Machine, ProviderObjectID: row.ProviderObjectID,
	}}
	operation.QueueMoves(batch, []operation.Move{m})
	after, err := m.After()
	if err != nil {
		return row, err
	}
	payload, err := event.Encode(after.Outcome())
	if err != nil {
		return row, fmt.Errorf("telling of payment %s: %w", row.PaymentID, err)
	}
	told := event.Event{
		ID: id, Type: event.PaymentCanceled, Source: a.Source, Topic: a.Topics.Events, Key: row.PaymentID, Time: row.Now,
		Context: c.ending(row.Payment.Context), Payload: payload,
	}
	return after, tell(batch, operation.History{
		PaymentID: row.PaymentID, OperationID: row.ID, From: row.State, To: after.State, Fence: after.Fence, Event: &told,
	})
}

// ending is what the event of a cancel carries on: the payment's own, but the trace and
// the correlation id of the cancel where it came with its own, and what caused it.
func (a Amendment) ending(of event.Context) event.Context {
	of.CorrelationID = cmp.Or(sane(a.CorrelationID), of.CorrelationID)
	of.TraceParent = cmp.Or(validTrace(a.TraceParent), of.TraceParent)
	of.CausationID = cmp.Or(sane(a.CausationID), a.IdempotencyKey)
	return of
}
