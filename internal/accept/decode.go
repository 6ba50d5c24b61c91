package accept

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// BodyBytesMax bounds a request's body at every door, and with it what a request may
// cost before anything is known about it.
const BodyBytesMax = 64 << 10

// PaymentBody is a request for a payment, the same at all doors. A null member is an absent one.
type PaymentBody struct {
	InvoiceID         string         `json:"invoiceId"`
	PaymentType       string         `json:"paymentType"`
	Amount            jsontext.Value `json:"amount"` // text or number, read exactly
	Currency          string         `json:"currency"`
	PaymentMethod     *string        `json:"paymentMethod"`
	Customer          *string        `json:"customer"`
	ExternalReference *string        `json:"externalReference"`
	Metadata          jsontext.Value `json:"metadata"`
	ChargeBefore      *string        `json:"chargeBefore"`
}

// MalformedError says why a body is no JSON object that can be read. Detail is a
// sentence for the client and holds nothing of the body.
type MalformedError struct{ Detail string }

// Error implements error.
func (e *MalformedError) Error() string { return e.Detail }

func malformed(detail string) error { return &MalformedError{Detail: detail} }

// DecodePayment reads a body strictly: nothing that two parsers could understand
// differently is taken (duplicate or unknown members, another case, invalid UTF-8,
// data behind the end). Its errors are *MalformedError and *InvalidError.
func DecodePayment(body []byte) (Command, error) {
	var b PaymentBody
	if err := decode(body, &b); err != nil {
		return Command{}, err
	}
	amount, err := amountText(b.Amount)
	if err != nil {
		return Command{}, err
	}
	return Command{
		InvoiceID: b.InvoiceID, PaymentType: b.PaymentType, Amount: amount, Currency: b.Currency,
		PaymentMethod: b.PaymentMethod, Customer: b.Customer, ExternalReference: b.ExternalReference,
		Metadata: present(b.Metadata), ChargeBefore: b.ChargeBefore,
	}, nil
}

func decode(body []byte, into any) error {
	if jsontext.Value(body).Kind() != '{' {
		return malformed("The body is not a JSON object.")
	}
	if err := json.Unmarshal(body, into, json.RejectUnknownMembers(true)); err != nil {
		return explainJSON(err)
	}
	return nil
}

// amountText returns the amount's digits as the client wrote them. A number never
// becomes a float on the way.
func amountText(value jsontext.Value) (string, error) {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", wrongType(FieldAmount)
		}
		return string(text), nil
	case '0':
		return string(value), nil
	}
	if present(value) == nil {
		return "", nil
	}
	return "", wrongType(FieldAmount)
}

// present returns nil for a member that is absent or null.
func present(value jsontext.Value) jsontext.Value {
	if len(value) == 0 || value.Kind() == 'n' {
		return nil
	}
	return value
}

func wrongType(field string) error { return invalid(field, "has the wrong JSON type") }

func invalid(field, broken string) error {
	return &InvalidError{Fields: []FieldError{{Field: field, Problem: broken}}}
}

// plainName is a member's name that may be shown again. What a client put in the
// place of a name by mistake could be a secret.
var plainName = regexp.MustCompile(`^[A-Za-z]{1,32}$`)

// explainJSON says what is wrong with a body, and where, without its values.
func explainJSON(err error) error {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		name := strings.TrimPrefix(string(semantic.JSONPointer), "/")
		if !plainName.MatchString(name) {
			name = "a member"
		}
		if errors.Is(err, json.ErrUnknownName) {
			return invalid(name, "is not a member of this request")
		}
		return wrongType(name)
	case errors.Is(err, jsontext.ErrDuplicateName):
		return malformed("The body has an object with two members of one name.")
	case errors.As(err, &syntactic):
		return malformed(fmt.Sprintf("The body is not valid JSON in UTF-8, at or after byte %d.", syntactic.ByteOffset))
	default:
		return malformed("The body is not valid JSON in UTF-8.")
	}
}
