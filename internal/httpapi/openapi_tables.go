package httpapi

import (
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/vocabulary"
	"github.com/payonce/payonce/pkg/payment"
)

// The groups of endpoints.
const (
	tagPayments  = "payments"
	tagProviders = "providers"
	tagService   = "service"
)

var tags = []*huma.Tag{
	{Name: tagPayments, Description: "What merchants ask for."},
	{Name: tagProviders, Description: "What providers tell."},
	{Name: tagService, Description: "About the service itself."},
}

// idempotencyKey is the name of the parameter that keyed routes have.
const idempotencyKey = "Idempotency-Key"

// keyPattern is a key of 1 to 255 printable ASCII characters, bare and without commas,
// or in quotes.
const keyPattern = `^([!#-+\--~][!-+\--~]{0,254}|"([!#-\[\]-~]|\\["\\]){1,255}")$`

// parameters are the parameters of all endpoints, by the names that routes use.
var parameters = map[string]huma.Param{
	idempotencyKey: {
		Name: idempotencyKey, In: "header", Required: true,
		Description: "New for each intent, the same for each repeat; at most 255 characters. The bare form and the quoted form are the same " +
			"key. A time-ordered key (UUIDv7, ULID) is best.",
		Schema: &huma.Schema{Type: huma.TypeString, Pattern: keyPattern}, Example: "8f6f1e1c-6d5c-4f3a-9d2b-1f0a9c7e2b11",
	},
	"payment-id": {
		Name: "id", In: "path", Required: true, Description: "The payment's id.", Example: vocabulary.ExamplePaymentID,
		Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
	},
	"refund-id": {
		Name: "id", In: "path", Required: true, Description: "The refund's id.", Example: vocabulary.ExampleRefundID,
		Schema: &huma.Schema{Type: huma.TypeString, Format: "uuid"},
	},
	"provider-account": {
		Name: "account", In: "path", Required: true, Description: "The provider account that the webhook is of.", Example: "simulated",
		Schema: &huma.Schema{Type: huma.TypeString},
	},
	"X-Correlation-Id": {
		Name: "X-Correlation-Id", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Goes on in the headers of every event of the payment. One that is not usable is replaced by the payment's id.",
	},
	"X-Request-Id": {
		Name: "X-Request-Id", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "Goes on in the events' headers as what caused them.",
	},
	"Prefer": {
		Name: "Prefer", In: "header", Schema: &huma.Schema{Type: huma.TypeString}, Example: "wait=1",
		Description: "`wait=N` waits up to N whole seconds, at most 30, for a final state (RFC 7240). Other preferences, and malformed ones, are ignored.",
	},
	paramCursor: {
		Name: paramCursor, In: "query", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "`next` of the page before, of the same list with the same filters.",
	},
	paramLimit: {
		Name: paramLimit, In: "query", Description: fmt.Sprintf("The length of the page; %d without it.", limitDefault),
		Schema: &huma.Schema{Type: huma.TypeInteger, Minimum: new(1.0), Maximum: new(float64(operation.ListPageMax))},
	},
	accept.FieldInvoiceID: {
		Name: accept.FieldInvoiceID, In: "query", Description: "Only payments of this invoice.", Example: "INV-2026-0017",
		Schema: vocabulary.Identifier(accept.InvoiceIDCharsMax),
	},
	accept.FieldExternalReference: {
		Name: accept.FieldExternalReference, In: "query", Description: "Only payments with this reference. Not together with `invoiceId`.", Example: "PO-7",
		Schema: vocabulary.Identifier(accept.ExternalReferenceCharsMax),
	},
	paramState: {
		Name: paramState, In: "query", Description: "Only payments that are in this state now.",
		Schema: &huma.Schema{Type: huma.TypeString, Enum: vocabulary.Enum(payment.States[:])},
	},
	paramCreatedAfter: {
		Name: paramCreatedAfter, In: "query", Description: "Only payments that were taken on at this moment or after it.",
		Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Example: "2026-05-04T00:00:00Z",
	},
	paramCreatedBefore: {
		Name: paramCreatedBefore, In: "query", Description: "Only payments that were taken on before this moment.",
		Schema: &huma.Schema{Type: huma.TypeString, Format: "date-time"}, Example: "2026-05-05T00:00:00Z",
	},
	"traceparent": {
		Name: "traceparent", In: "header", Schema: &huma.Schema{Type: huma.TypeString},
		Description: "W3C trace context. One that is not valid is replaced by a new one.",
	},
}

// answerHeaders are the headers of answers, by their names.
var answerHeaders = map[string]huma.Header{
	"Location":                {Description: "The path of what was made.", Schema: &huma.Schema{Type: huma.TypeString, Format: "uri-reference"}},
	"Idempotent-Replayed":     {Description: "`true` when this is the first request's answer.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	"Idempotency-Key-Derived": {Description: "`true` when the key was derived from the invoice.", Schema: &huma.Schema{Type: huma.TypeBoolean}},
	"Preference-Applied":      {Description: "`wait=N` when the wait was kept to.", Schema: &huma.Schema{Type: huma.TypeString}},
	"ETag":                    {Description: "Names this version of the text.", Schema: &huma.Schema{Type: huma.TypeString}},
	"Retry-After":             {Description: "Seconds to wait before the same request is sent again.", Schema: &huma.Schema{Type: huma.TypeInteger}},
	"WWW-Authenticate":        {Description: "How to authenticate.", Schema: &huma.Schema{Type: huma.TypeString}},
}

// commonProblems are what can stand in the way of any request of the kind.
func commonProblems(about about) []problem.Problem {
	common := []problem.Problem{problem.InternalError, problem.Overloaded, problem.ServiceUnavailable}
	if !about.noAPIKey {
		common = append(common, problem.Unauthorized, problem.RateLimited)
	}
	if about.keyed {
		common = append(common, problem.KeyMissing, problem.KeyMalformed, problem.KeyExpired, problem.KeyReused, problem.RequestInProgress)
	}
	if about.body == nil {
		return common
	}
	common = append(common, problem.BodyTooSlow, problem.BodyTooLarge)
	if _, free := about.body.(anything); !free {
		common = append(common, problem.MalformedBody, problem.InvalidRequest, problem.CardDataRefused, problem.UnsupportedMedia)
	}
	return common
}

// problemHeaders are the headers that come with a problem.
func problemHeaders(p problem.Problem) []string {
	switch {
	case p.Name == problem.Unauthorized.Name:
		return []string{"WWW-Authenticate"}
	case p.Retryable && (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusConflict || p.Status == http.StatusTooManyRequests):
		return []string{"Retry-After"}
	}
	return nil
}

// requests are examples of bodies.
var requests = map[reflect.Type]map[string]*huma.Example{
	reflect.TypeFor[accept.PaymentBody](): {
		"least": {
			Summary: "What is needed", Value: map[string]any{"invoiceId": "INV-2026-0017", "paymentType": "invoice", "amount": "10.00", "currency": "TRY"},
		},
		"all": {
			Summary: "What can be said",
			Value: map[string]any{
				"invoiceId": "INV-2026-0018", "paymentType": "invoice", "amount": "249.90", "currency": "TRY",
				"paymentMethod": "tok_simulated", "customer": "cus_17", "externalReference": "PO-7",
				"metadata": map[string]any{"cart": "17"}, "chargeBefore": "2030-01-01T00:00:00Z",
			},
		},
	},
	reflect.TypeFor[accept.RefundBody](): {
		"all":  {Summary: "All that is left", Value: map[string]any{"refundReference": "RMA-3"}},
		"part": {Summary: "A part", Value: map[string]any{"refundReference": "RMA-4", "amount": "4.00", "currency": "TRY"}},
	},
}

func requestExamples(body any) map[string]*huma.Example { return requests[reflect.TypeOf(body)] }

// answerExample is an example of an answer, in the state that its status says.
func answerExample(answer success) any {
	switch answer.body.(type) {
	case payment.View:
		return examplePayment(answer.status)
	case payment.RefundView:
		return exampleRefund(answer.status)
	default:
		return nil
	}
}

// linksOf tells tools which endpoint an answer leads to.
func linksOf(body any) map[string]*huma.Link {
	switch body.(type) {
	case payment.View:
		return links("$response.body#/id", "getPayment", "cancelPayment", "createRefund", "listRefunds", "getPaymentEvents")
	case payment.RefundView:
		return links("$response.body#/id", "getRefund")
	default:
		return nil
	}
}

// links leads to operations whose parameter id is found at the place.
func links(place string, operations ...string) map[string]*huma.Link {
	all := make(map[string]*huma.Link, len(operations))
	for _, operation := range operations {
		all[operation] = &huma.Link{OperationID: operation, Parameters: map[string]any{"id": place}}
	}
	return all
}
