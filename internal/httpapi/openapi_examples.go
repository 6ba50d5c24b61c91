package httpapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/payment"
)

// examplePayment is an open payment for 202, and one that was captured otherwise.
func examplePayment(status int) payment.View {
	at := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
	view := payment.View{
		ID: uuid.MustParse(exampleID), OperationID: uuid.MustParse("0190a1b2-c3d4-7000-8000-000000000002"),
		State: payment.StateCaptured, Amount: "10.00", AmountMinor: "1000", Currency: "TRY",
		InvoiceID: "INV-2026-0017", PaymentType: "invoice", Refunded: "0.00", CreatedAt: at, UpdatedAt: at.Add(time.Second),
	}
	if status == http.StatusAccepted {
		next := at.Add(time.Minute)
		view.State, view.NextCheckAt, view.UpdatedAt = payment.StateCreated, &next, at
	}
	return view
}

// exampleRefund is an open refund for 202, and one that took place otherwise.
func exampleRefund(status int) payment.RefundView {
	at := time.Date(2026, 5, 4, 3, 2, 1, 123456000, time.UTC)
	view := payment.RefundView{
		ID: uuid.MustParse(exampleRefundID), PaymentID: uuid.MustParse(exampleID), RefundReference: "RMA-4", State: payment.OperationSucceeded,
		Amount: "4.00", AmountMinor: "400", Currency: "TRY", CreatedAt: at, UpdatedAt: at.Add(time.Second),
	}
	if status == http.StatusAccepted {
		next := at.Add(time.Minute)
		view.State, view.NextCheckAt, view.UpdatedAt = payment.OperationCreated, &next, at
	}
	return view
}
