package simulated

import (
	"encoding/json"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// movement is a charge, refund or void in the provider's words.
type movement struct {
	ID          string `json:"id"`
	Reference   string `json:"reference"`
	Status      string `json:"status"`
	AmountMinor int64  `json:"amountMinor"`
	Currency    string `json:"currency"`
	Reason      string `json:"reason"`
}

// whole reports whether the words are a movement at all: JSON of something else
// decodes into a movement too.
func (m movement) whole() bool {
	return m.ID != "" && m.Reference != "" && m.Status != "" && m.Currency != ""
}

// What the provider writes, as far as we act on it.
const (
	statusCaptured = "captured"
	statusPending  = "pending"
	statusDeclined = "declined"
	statusVoided   = "voided"
	codeKeyReused  = "idempotency_key_reused"
)

// problemCode returns the code of the provider's own error format.
func problemCode(body []byte) (code string, own bool) {
	var p struct {
		Error struct {
			Code string `json:"code"`
		} `json:"error"`
	}
	own = decode(body, &p) && p.Error.Code != ""
	return p.Error.Code, own
}

func decode(body []byte, into any) bool { return json.Unmarshal(body, into) == nil }

// sortMovement completes an answer with what one movement says about the
// operation.
func (c *Connector) sortMovement(op provider.Operation, m movement, answer provider.Answer) provider.Answer {
	if m.Reference != op.Reference {
		answer.Reason = provider.ReasonReferenceMismatch
		return answer
	}
	answer.ObjectID = m.ID
	if amount, err := c.capabilities.FromUnits(m.AmountMinor, money.Currency(m.Currency)); err == nil {
		answer.Amount = amount
	}
	switch m.Status {
	case statusCaptured:
		answer.Verdict = payment.VerdictCaptured
	case statusPending:
		answer.Verdict = payment.VerdictPending
	case statusDeclined:
		answer.Verdict, answer.Reason = payment.VerdictDeclined, m.Reason
	case statusVoided:
		answer.Verdict, answer.Reason = payment.VerdictDeclined, provider.ReasonVoided
	default:
		answer.Reason = provider.ReasonForeignAnswer
	}
	return provider.CheckEcho(op, answer)
}
