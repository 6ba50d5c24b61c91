package event

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Requested is the data of PaymentRequested: charge this operation. The worker
// reads what it needs from PostgreSQL; the message only names the work, so an
// old or forged amount in it can charge nobody.
type Requested struct {
	PaymentID   uuid.UUID      `json:"paymentId"`
	OperationID uuid.UUID      `json:"operationId"`
	MerchantID  uuid.UUID      `json:"merchantId"`
	InvoiceID   string         `json:"invoiceId"`
	PaymentType string         `json:"paymentType"`
	Amount      string         `json:"amount"`
	AmountMinor string         `json:"amountMinor"`
	Currency    money.Currency `json:"currency"`
}

// Outcome is the data of the five types that tell how a payment moved.
type Outcome struct {
	PaymentID         uuid.UUID      `json:"paymentId"`
	OperationID       uuid.UUID      `json:"operationId"`
	MerchantID        uuid.UUID      `json:"merchantId"`
	State             payment.State  `json:"state"`
	Reason            *string        `json:"reason"`
	InvoiceID         string         `json:"invoiceId"`
	PaymentType       string         `json:"paymentType"`
	ExternalReference *string        `json:"externalReference"`
	Amount            string         `json:"amount"`
	AmountMinor       string         `json:"amountMinor"`
	Currency          money.Currency `json:"currency"`
	Provider          string         `json:"provider"`         // provider account
	ProviderObjectID  *string        `json:"providerObjectId"` // the provider's own id, once known
	OccurredAt        time.Time      `json:"occurredAt"`
}

// RefundAsked is the data of RefundRequested: give this much of the payment back. As
// with Requested, the worker reads what it needs from PostgreSQL.
type RefundAsked struct {
	PaymentID       uuid.UUID      `json:"paymentId"`
	RefundID        uuid.UUID      `json:"refundId"` // of its operation, too
	MerchantID      uuid.UUID      `json:"merchantId"`
	RefundReference string         `json:"refundReference"`
	Amount          string         `json:"amount"`
	AmountMinor     string         `json:"amountMinor"`
	Currency        money.Currency `json:"currency"`
}

// Refunded is the data of RefundCompleted and RefundFailed: how a refund ended.
type Refunded struct {
	PaymentID       uuid.UUID              `json:"paymentId"`
	RefundID        uuid.UUID              `json:"refundId"`
	MerchantID      uuid.UUID              `json:"merchantId"`
	RefundReference string                 `json:"refundReference"`
	State           payment.OperationState `json:"state"`
	Reason          *string                `json:"reason"`
	InvoiceID       string                 `json:"invoiceId"`
	Amount          string                 `json:"amount"`
	AmountMinor     string                 `json:"amountMinor"`
	Currency        money.Currency         `json:"currency"`
	// RefundedTotal is the sum of the payment's refunds that have not failed, this one
	// included when it has not.
	RefundedTotal      string    `json:"refundedTotal"`
	RefundedTotalMinor string    `json:"refundedTotalMinor"`
	Provider           string    `json:"provider"`         // provider account
	ProviderObjectID   *string   `json:"providerObjectId"` // the provider's own id of the refund, once known
	OccurredAt         time.Time `json:"occurredAt"`
}

// Encode renders event data and refuses what no broker should be asked to take.
func Encode(data any) ([]byte, error) {
	payload, err := json.Marshal(data)
	if err != nil {
		return nil, fmt.Errorf("rendering event data: %w", err)
	}
	if len(payload) > PayloadBytesMax {
		return nil, fmt.Errorf("event data has %d bytes, more than %d", len(payload), PayloadBytesMax)
	}
	return payload, nil
}
