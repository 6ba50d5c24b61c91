package accept

import "github.com/go-json-experiment/json/jsontext"

// RefundBody is a request for a refund. A null member is an absent one.
type RefundBody struct {
	RefundReference string         `json:"refundReference"`
	Amount          jsontext.Value `json:"amount"`   // text or number, read exactly; absent: all that is left
	Currency        *string        `json:"currency"` // the payment's
	Metadata        jsontext.Value `json:"metadata"`
}

// DecodeRefund reads a body as strictly as DecodePayment. Its errors are
// *MalformedError and *InvalidError.
func DecodeRefund(body []byte) (RefundCommand, error) {
	var b RefundBody
	if err := decode(body, &b); err != nil {
		return RefundCommand{}, err
	}
	amount, err := amountText(b.Amount)
	if err != nil {
		return RefundCommand{}, err
	}
	if amount == "" && present(b.Amount) != nil {
		return RefundCommand{}, invalid(FieldAmount, "is empty; leave it out to refund all that is left")
	}
	return RefundCommand{Reference: b.RefundReference, Amount: amount, Currency: b.Currency, Metadata: present(b.Metadata)}, nil
}

// CheckNothing accepts the body of a request that has none to bring: no bytes, or an
// empty object.
func CheckNothing(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	return decode(body, &struct{}{})
}
