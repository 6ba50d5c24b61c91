package payment

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
)

// View is the one JSON form of a payment: in answers, in conflicts, in tools.
// Amounts are strings, in the currency's decimals and in minor units. Times are
// UTC with microseconds, as the database keeps them.
type View struct {
	ID                uuid.UUID      `json:"id"`
	OperationID       uuid.UUID      `json:"operationId"`
	State             State          `json:"state"`
	Amount            string         `json:"amount"`
	AmountMinor       string         `json:"amountMinor"`
	Currency          money.Currency `json:"currency"`
	InvoiceID         string         `json:"invoiceId"`
	PaymentType       string         `json:"paymentType"`
	ExternalReference *string        `json:"externalReference"`
	// Reason is a stable code for why a payment failed or is not final yet.
	Reason *string `json:"reason"`
	// Refunded is the sum of refunds that have not failed.
	Refunded string `json:"refunded"`
	// NextCheckAt is when an open payment is looked at again; null once final.
	NextCheckAt *time.Time `json:"nextCheckAt"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
}

// Encode renders the view. The bytes are what a repeated request gets back, so
// the same view always renders to the same bytes.
func (v View) Encode() ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("rendering payment %s: %w", v.ID, err)
	}
	return body, nil
}
