package accept

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
)

// requested is the event that asks a worker to charge a payment.
func (r Rules) requested(p operation.NewPayment, at time.Time) (event.Event, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return event.Event{}, fmt.Errorf("naming an event: %w", err)
	}
	payload, err := event.Encode(event.Requested{
		PaymentID: p.PaymentID, OperationID: p.OperationID, MerchantID: p.MerchantID,
		InvoiceID: p.InvoiceID, PaymentType: p.PaymentType,
		Amount: p.Amount.Decimal(), AmountMinor: strconv.FormatInt(p.Amount.Minor(), 10), Currency: p.Amount.Currency(),
	})
	if err != nil {
		return event.Event{}, fmt.Errorf("telling of payment %s: %w", p.PaymentID, err)
	}
	return event.Event{
		ID: id, Type: event.PaymentRequested, Source: r.Source, Topic: r.Topic, Key: p.PaymentID,
		Time: at, Context: p.Context, Payload: payload,
	}, nil
}
