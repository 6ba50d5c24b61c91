package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/payonce/payonce/internal/accept"
)

// paymentBody is the body of POST /v1/payments. A null member is an absent one.
type paymentBody struct {
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

// readBody reads the whole body of a request that says it is JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return nil, unsupportedMedia.failure("Send Content-Type: application/json, in UTF-8.")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, unsupportedMedia.failure("Send the body without a content encoding.")
	}
	body, err := readBytes(w, r, BodyBytesMax)
	if err == nil && len(body) == 0 {
		return nil, malformedBody.failure("The body is empty.")
	}
	return body, err
}

// readBytes reads a whole body of at most limit bytes, as it came.
func readBytes(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		f := bodyTooLarge.failure(fmt.Sprintf("The body has more than %d bytes.", limit))
		f.Limit = limit
		return nil, f
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, bodyTooSlow.failure("The body did not arrive in time.")
	case err != nil:
		return nil, malformedBody.failure("The body ended before its end.")
	}
	return body, nil
}

// decodePayment reads a body strictly: nothing that two parsers could understand
// differently is taken (duplicate or unknown members, another case, invalid UTF-8,
// data behind the end).
func decodePayment(body []byte) (accept.Command, error) {
	if jsontext.Value(body).Kind() != '{' {
		return accept.Command{}, malformedBody.failure("The body is not a JSON object.")
	}
	var b paymentBody
	if err := json.Unmarshal(body, &b, json.RejectUnknownMembers(true)); err != nil {
		return accept.Command{}, explainJSON(err)
	}
	amount, err := amountText(b.Amount)
	if err != nil {
		return accept.Command{}, err
	}
	return accept.Command{
		InvoiceID: b.InvoiceID, PaymentType: b.PaymentType, Amount: amount, Currency: b.Currency,
		PaymentMethod: b.PaymentMethod, Customer: b.Customer, ExternalReference: b.ExternalReference,
		Metadata: present(b.Metadata), ChargeBefore: b.ChargeBefore,
	}, nil
}

// amountText returns the amount's digits as the client wrote them. A number never
// becomes a float on the way.
func amountText(value jsontext.Value) (string, error) {
	switch value.Kind() {
	case '"':
		text, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", wrongType(accept.FieldAmount)
		}
		return string(text), nil
	case '0':
		return string(value), nil
	}
	if present(value) == nil {
		return "", nil
	}
	return "", wrongType(accept.FieldAmount)
}

// present returns nil for a member that is absent or null.
func present(value jsontext.Value) jsontext.Value {
	if len(value) == 0 || value.Kind() == 'n' {
		return nil
	}
	return value
}

func wrongType(field string) *failure { return invalid(field, "has the wrong JSON type") }

func invalid(field, broken string) *failure {
	f := invalidRequest.failure(field + " " + broken + ".")
	f.Errors = []accept.FieldError{{Field: field, Problem: broken}}
	return f
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
		return malformedBody.failure("The body has an object with two members of one name.")
	case errors.As(err, &syntactic):
		return malformedBody.failure(fmt.Sprintf("The body is not valid JSON in UTF-8, at or after byte %d.", syntactic.ByteOffset))
	default:
		return malformedBody.failure("The body is not valid JSON in UTF-8.")
	}
}
