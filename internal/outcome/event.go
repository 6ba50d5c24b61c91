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

// eventType returns the type that tells of a charge's new state, or "" when
// nobody is told: a charge that goes back to created is our own affair.
func eventType(kind payment.Kind, state payment.OperationState) event.Type {
	if kind != payment.KindCharge {
		return ""
	}
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
func (p Publisher) tell(m operation.Move) (operation.History, error) {
	after := m.After()
	h := operation.History{
		PaymentID: after.PaymentID, OperationID: after.ID, From: m.From.State, To: after.State, Fence: after.Fence,
	}
	if after.Reason != nil {
		h.Reason = *after.Reason
	}
	kind := eventType(after.Kind, after.State)
	if kind == "" {
		return h, nil
	}
	payload, err := event.Encode(data(after))
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

func data(l operation.Locked) event.Outcome {
	return event.Outcome{
		PaymentID: l.PaymentID, OperationID: l.ID, MerchantID: l.MerchantID, State: l.Payment.State, Reason: l.Reason,
		InvoiceID: l.Payment.InvoiceID, PaymentType: l.Payment.PaymentType, ExternalReference: l.Payment.ExternalReference,
		Amount: l.Amount.Decimal(), AmountMinor: fmt.Sprint(l.Amount.Minor()), Currency: l.Amount.Currency(),
		Provider: l.ProviderAccount, ProviderObjectID: l.ProviderObjectID, OccurredAt: l.Now,
	}
}
