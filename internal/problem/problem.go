// Package problem holds the problem documents of all doors: why a request was not
// taken on, in the same words over HTTP and Kafka.
//
//	errors and refusals of accept ──Explain, Refusal──> RFC 9457 document
//
// A problem's type and status are part of the contract with clients, and each says
// whether the very same request can succeed later. No document holds a value that
// came in the request; it names fields.
package problem

import (
	"net/http"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/pkg/payment"
)

// Prefix begins every problem's type, with the problem's name behind it.
const Prefix = "urn:payonce:problem:"

// Problem is one kind of problem. Name and Status are part of the contract with
// clients; Retryable says whether the very same request, with the same key, can
// succeed later.
type Problem struct {
	Name      string
	Title     string
	Status    int // of HTTP; the other doors say the same number
	Retryable bool
}

// The problems, all of them.
var (
	Unauthorized       = Problem{"unauthorized", "The API key is missing or not valid", http.StatusUnauthorized, false}
	ResourceNotFound   = Problem{"not-found", "Not found", http.StatusNotFound, false}
	MethodNotAllowed   = Problem{"method-not-allowed", "Method not allowed", http.StatusMethodNotAllowed, false}
	UnsupportedMedia   = Problem{"unsupported-media-type", "The body must be application/json", http.StatusUnsupportedMediaType, false}
	BodyTooLarge       = Problem{"body-too-large", "The body is too large", http.StatusRequestEntityTooLarge, false}
	BodyTooSlow        = Problem{"body-too-slow", "The body did not arrive in time", http.StatusRequestTimeout, true}
	MalformedBody      = Problem{"malformed-body", "The body cannot be read", http.StatusBadRequest, false}
	InvalidRequest     = Problem{"invalid-request", "The request breaks rules", http.StatusBadRequest, false}
	CardDataRefused    = Problem{"card-data-refused", "The request holds what looks like a card number", http.StatusBadRequest, false}
	KeyMissing         = Problem{"idempotency-key-missing", "The Idempotency-Key is missing", http.StatusBadRequest, false}
	KeyMalformed       = Problem{"idempotency-key-malformed", "The Idempotency-Key is not usable", http.StatusBadRequest, false}
	KeyExpired         = Problem{"idempotency-key-expired", "The Idempotency-Key is too old to be used for the first time", http.StatusBadRequest, false}
	KeyReused          = Problem{"idempotency-key-reused", "The Idempotency-Key stands for another request", http.StatusUnprocessableEntity, false}
	InvoiceHasPayment  = Problem{"invoice-has-payment", "The invoice has a live payment already", http.StatusConflict, false}
	ReferenceIsInUse   = Problem{"external-reference-in-use", "The external reference has a live payment already", http.StatusConflict, false}
	NotCancelable      = Problem{"payment-not-cancelable", "The payment cannot be canceled any more", http.StatusConflict, false}
	NotRefundable      = Problem{"payment-not-refundable", "The payment cannot be refunded", http.StatusConflict, false}
	RefundReferenceUse = Problem{"refund-reference-taken", "The payment has a refund with this reference already", http.StatusConflict, false}
	RefundBeyondLimit  = Problem{"refund-exceeds-captured", "More would be refunded than was captured", http.StatusUnprocessableEntity, false}
	RefundsUnsupported = Problem{"refunds-not-supported", "The provider cannot give this back", http.StatusUnprocessableEntity, false}
	RequestInProgress  = Problem{"request-in-progress", "A request for this key or payment is being worked on", http.StatusConflict, true}
	RateLimited        = Problem{"rate-limited", "Requests come faster than is allowed", http.StatusTooManyRequests, true}
	Overloaded         = Problem{"overloaded", "Too many requests at once", http.StatusServiceUnavailable, true}
	ServiceUnavailable = Problem{"unavailable", "The service cannot answer at the moment", http.StatusServiceUnavailable, true}
	WebhookUnsigned    = Problem{"webhook-not-signed", "The webhook is not signed with one of the secrets", http.StatusUnauthorized, false}
	WebhookTooOld      = Problem{"webhook-too-old", "The webhook's signed time is too far from now", http.StatusBadRequest, false}
	InternalError      = Problem{"internal-error", "Something went wrong here", http.StatusInternalServerError, true}
)

// Error is one occurrence of a problem: the document, and what only the log
// hears.
type Error struct {
	Document
	Cause error
}

// Document is the problem document (RFC 9457) as it is sent.
type Document struct {
	Type            string              `json:"type"`
	Title           string              `json:"title"`
	Status          int                 `json:"status"`
	Detail          string              `json:"detail,omitempty"`
	Retryable       bool                `json:"retryable"`
	Errors          []accept.FieldError `json:"errors,omitempty"`
	DifferingFields []string            `json:"differingFields,omitempty"`
	Payment         *payment.View       `json:"payment,omitempty"` // the payment that stands in the way
	Refund          *payment.RefundView `json:"refund,omitempty"`  // the refund that stands in the way
	Limit           int                 `json:"limit,omitempty"`   // in bytes
}

// Failure makes an occurrence. The detail is for the client and holds nothing that
// came in the request, except names of fields.
func (p Problem) Failure(detail string) *Error {
	return &Error{Document: Document{
		Type: Prefix + p.Name, Title: p.Title, Status: p.Status, Detail: detail, Retryable: p.Retryable,
	}}
}

// Because adds what only the log hears.
func (f *Error) Because(cause error) *Error {
	f.Cause = cause
	return f
}

// Of reports whether this is an occurrence of the problem.
func (f *Error) Of(p Problem) bool { return f.Type == Prefix+p.Name }

// Error implements error.
func (f *Error) Error() string { return f.Title + ": " + f.Detail }

// Unwrap returns the cause.
func (f *Error) Unwrap() error { return f.Cause }
