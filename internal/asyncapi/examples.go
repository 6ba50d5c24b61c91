package asyncapi

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/vocabulary"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// The names in the examples.
var (
	examplePayment   = uuid.MustParse(vocabulary.ExamplePaymentID)
	exampleOperation = uuid.MustParse(vocabulary.ExampleOperationID)
	exampleRefund    = uuid.MustParse(vocabulary.ExampleRefundID)
	exampleEvent     = uuid.MustParse(vocabulary.ExampleEventID)
	exampleMerchant  = uuid.MustParse(vocabulary.ExampleMerchantID)
	exampleTime      = vocabulary.ExampleTime()
)

// Example is a payload of the type, as it is on Kafka.
func Example(kind event.Type) ([]byte, error) {
	for _, m := range messages {
		if m.kind == kind {
			return event.Encode(m.example())
		}
	}
	return nil, fmt.Errorf("%s is no type of message", kind)
}

// example fills in the payload's Go type.
func (m message) example() any {
	switch m.data.(type) {
	case event.Accepted:
		view, err := vocabulary.ExamplePayment().Encode()
		if err != nil {
			panic(err) // texts and times always render
		}
		return event.Accepted{Payment: view}
	case problem.Document:
		p := problem.InvoiceHasPayment.Failure("The invoice can be paid again when this payment has failed or was canceled.")
		view := vocabulary.ExamplePayment()
		p.Payment = &view
		return p.Document
	case event.Requested:
		return event.Requested{
			PaymentID: examplePayment, OperationID: exampleOperation, MerchantID: exampleMerchant,
			InvoiceID: "INV-2026-0017", PaymentType: "invoice", Amount: "10.00", AmountMinor: "1000", Currency: "TRY",
		}
	case event.Outcome:
		return m.exampleOutcome()
	case event.RefundAsked:
		return event.RefundAsked{
			PaymentID: examplePayment, RefundID: exampleRefund, MerchantID: exampleMerchant,
			RefundReference: "RMA-3", Amount: "4.00", AmountMinor: "400", Currency: "TRY",
		}
	case event.Refunded:
		return m.exampleRefunded()
	default:
		return json.RawMessage(`{"invoiceId":"INV-2026-0017","paymentType":"invoice","amount":"10.00","currency":"TRY","paymentMethod":"tok_simulated"}`)
	}
}

// exampleReasons are why a payment may be in a state.
var exampleReasons = map[payment.State]string{
	payment.StateUnknown: "lease_expired", payment.StateFailed: "insufficient_funds", payment.StateCanceled: "canceled_by_merchant",
}

func (m message) exampleOutcome() event.Outcome {
	reference, object := "PO-7", "ch_1"
	o := event.Outcome{
		PaymentID: examplePayment, OperationID: exampleOperation, MerchantID: exampleMerchant, State: payment.State(m.state),
		InvoiceID: "INV-2026-0017", PaymentType: "invoice", ExternalReference: &reference,
		Amount: "10.00", AmountMinor: "1000", Currency: "TRY", Provider: "card", OccurredAt: exampleTime,
	}
	if reason, ok := exampleReasons[o.State]; ok {
		o.Reason = &reason
	} else {
		o.ProviderObjectID = &object
	}
	return o
}

func (m message) exampleRefunded() event.Refunded {
	object, reason := "re_1", "insufficient_funds"
	r := event.Refunded{
		PaymentID: examplePayment, RefundID: exampleRefund, MerchantID: exampleMerchant, RefundReference: "RMA-3",
		State: payment.OperationState(m.state), InvoiceID: "INV-2026-0017", Amount: "4.00", AmountMinor: "400", Currency: "TRY",
		RefundedTotal: "4.00", RefundedTotalMinor: "400", Provider: "card", ProviderObjectID: &object, OccurredAt: exampleTime,
	}
	if r.State == payment.OperationFailed {
		r.Reason, r.ProviderObjectID, r.RefundedTotal, r.RefundedTotalMinor = &reason, nil, "0.00", "0"
	}
	return r
}
