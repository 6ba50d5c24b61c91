package vocabulary

import (
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/payment"
)

// What the examples of all documents tell of: one payment, its charge, a refund of it,
// the event that told of it, and its merchant.
const (
	ExamplePaymentID   = "0190a1b2-c3d4-7000-8000-000000000001"
	ExampleOperationID = "0190a1b2-c3d4-7000-8000-000000000002"
	ExampleRefundID    = "0190a1b2-c3d4-7000-8000-000000000003"
	ExampleEventID     = "0190a1b2-c3d4-7000-8000-000000000004"
	ExampleMerchantID  = "0190a1b2-c3d4-7000-8000-000000000009"
)

// ExampleTime is when the examples' payment was taken on.
func ExampleTime() time.Time { return time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC) }

// ExamplePayment is the examples' payment as it was taken on.
func ExamplePayment() payment.View {
	at := ExampleTime()
	next := at.Add(time.Minute)
	return payment.View{
		ID: uuid.MustParse(ExamplePaymentID), OperationID: uuid.MustParse(ExampleOperationID), State: payment.StateCreated,
		Amount: "10.00", AmountMinor: "1000", Currency: "TRY", InvoiceID: "INV-2026-0017", PaymentType: "invoice",
		Refunded: "0.00", NextCheckAt: &next, CreatedAt: at, UpdatedAt: at,
	}
}
