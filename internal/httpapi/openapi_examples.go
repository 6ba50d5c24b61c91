package httpapi

import (
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/vocabulary"
	"github.com/payonce/payonce/pkg/payment"
)

// examplePayment is an open payment for 202, and one that was captured otherwise.
func examplePayment(status int) payment.View {
	view := vocabulary.ExamplePayment()
	if status != http.StatusAccepted {
		view.State, view.NextCheckAt, view.UpdatedAt = payment.StateCaptured, nil, view.CreatedAt.Add(time.Second)
	}
	return view
}

// exampleRefund is an open refund for 202, and one that took place otherwise.
func exampleRefund(status int) payment.RefundView {
	at := vocabulary.ExampleTime()
	view := payment.RefundView{
		ID: uuid.MustParse(vocabulary.ExampleRefundID), PaymentID: uuid.MustParse(vocabulary.ExamplePaymentID), RefundReference: "RMA-4",
		State: payment.OperationSucceeded, Amount: "4.00", AmountMinor: "400", Currency: "TRY", CreatedAt: at, UpdatedAt: at.Add(time.Second),
	}
	if status == http.StatusAccepted {
		next := at.Add(time.Minute)
		view.State, view.NextCheckAt, view.UpdatedAt = payment.OperationCreated, &next, at
	}
	return view
}
