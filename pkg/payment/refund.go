package payment

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
)

// RefundView is the one JSON form of a merchant's refund. Amounts and times are as in
// View. A refund's state is its operation's: succeeded and failed are final, and in any
// other state the money may have gone back or still may.
type RefundView struct {
	ID              uuid.UUID      `json:"id"` // of its operation, too
	PaymentID       uuid.UUID      `json:"paymentId"`
	RefundReference string         `json:"refundReference"`
	State           OperationState `json:"state"`
	Amount          string         `json:"amount"`
	AmountMinor     string         `json:"amountMinor"`
	Currency        money.Currency `json:"currency"`
	// Reason is a stable code for why the refund failed or is not final yet.
	Reason *string `json:"reason"`
	// NextCheckAt is when an open refund is looked at again; null once final.
	NextCheckAt *time.Time `json:"nextCheckAt"`
	CreatedAt   time.Time  `json:"createdAt"`
	UpdatedAt   time.Time  `json:"updatedAt"`
}

// Encode renders the view, always to the same bytes.
func (v RefundView) Encode() ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("rendering refund %s: %w", v.ID, err)
	}
	return body, nil
}
