package outcome

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// Publisher says where the events of this database's outcomes go.
type Publisher struct {
	Topic  string // of outcome events
	Source string // event.Source(cell)
}

// eventType returns the type that tells of an operation's new state, or "" when
// nobody is told: a charge that goes back to created is our own affair, and so is all
// of a compensation. Of a merchant's refund the end is told.
func eventType(l operation.Locked) event.Type {
	switch {
	case l.Kind == payment.KindCharge:
		return chargeEvent(l.State)
	case l.RefundReference == nil:
	case l.State == payment.OperationSucceeded:
		return event.RefundCompleted
	case l.State == payment.OperationFailed:
		return event.RefundFailed
	}
	return ""
}

func chargeEvent(state payment.OperationState) event.Type {
	switch state {
	case payment.OperationPending:
		return event.PaymentPending
	case payment.OperationUnknown:
		return event.PaymentUnknown
	case payment.OperationSucceeded:
		return event.PaymentCaptured
	case payment.OperationFailed:
		return event.PaymentFailed
	case payment.OperationCanceled:
		return event.PaymentCanceled
	case payment.OperationCreated, payment.OperationProcessing:
		return ""
	}
	return ""
}

// tell describes a move as history, with the event that tells of it.
func (p Publisher) tell(from payment.OperationState, after operation.Locked) (operation.History, error) {
	h := operation.History{
		PaymentID: after.PaymentID, OperationID: after.ID, From: from, To: after.State, Fence: after.Fence,
	}
	if after.Reason != nil {
		h.Reason = *after.Reason
	}
	kind := eventType(after)
	if kind == "" {
		return h, nil
	}
	var data any = after.Outcome()
	if after.RefundReference != nil {
		data = after.Refunded()
	}
	payload, err := event.Encode(data)
	if err != nil {
		return h, fmt.Errorf("telling of payment %s: %w", after.PaymentID, err)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return h, fmt.Errorf("naming an event: %w", err)
	}
	h.Event = &event.Event{
		ID: id, Type: kind, Source: p.Source, Topic: p.Topic, Key: after.PaymentID, Time: after.Now,
		Context: after.Payment.Context, Payload: payload,
	}
	h.Event.Context.CausationID = after.ID.String()
	return h, nil
}
