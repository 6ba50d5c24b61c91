package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// problemPrefix begins every problem's type, with the problem's name behind it.
const problemPrefix = "urn:payonce:problem:"

// problem is one kind of problem. Name and status are part of the contract with
// clients; Retryable says whether the very same request, with the same key, can
// succeed later.
type problem struct {
	Name      string
	Title     string
	Status    int
	Retryable bool
}

// The problems, all of them.
var (
	unauthorized       = problem{"unauthorized", "The API key is missing or not valid", http.StatusUnauthorized, false}
	resourceNotFound   = problem{"not-found", "Not found", http.StatusNotFound, false}
	methodNotAllowed   = problem{"method-not-allowed", "Method not allowed", http.StatusMethodNotAllowed, false}
	unsupportedMedia   = problem{"unsupported-media-type", "The body must be application/json", http.StatusUnsupportedMediaType, false}
	bodyTooLarge       = problem{"body-too-large", "The body is too large", http.StatusRequestEntityTooLarge, false}
	bodyTooSlow        = problem{"body-too-slow", "The body did not arrive in time", http.StatusRequestTimeout, true}
	malformedBody      = problem{"malformed-body", "The body cannot be read", http.StatusBadRequest, false}
	invalidRequest     = problem{"invalid-request", "The request breaks rules", http.StatusBadRequest, false}
	keyMissing         = problem{"idempotency-key-missing", "The Idempotency-Key is missing", http.StatusBadRequest, false}
	keyMalformed       = problem{"idempotency-key-malformed", "The Idempotency-Key is not usable", http.StatusBadRequest, false}
	keyReused          = problem{"idempotency-key-reused", "The Idempotency-Key stands for another request", http.StatusUnprocessableEntity, false}
	invoiceHasPayment  = problem{"invoice-has-payment", "The invoice has a live payment already", http.StatusConflict, false}
	referenceIsInUse   = problem{"external-reference-in-use", "The external reference has a live payment already", http.StatusConflict, false}
	requestInProgress  = problem{"request-in-progress", "A request for this key or payment is being worked on", http.StatusConflict, true}
	overloaded         = problem{"overloaded", "Too many requests at once", http.StatusServiceUnavailable, true}
	serviceUnavailable = problem{"unavailable", "The service cannot answer at the moment", http.StatusServiceUnavailable, true}
	webhookUnsigned    = problem{"webhook-not-signed", "The webhook is not signed with one of the secrets", http.StatusUnauthorized, false}
	webhookTooOld      = problem{"webhook-too-old", "The webhook's signed time is too far from now", http.StatusBadRequest, false}
	internalError      = problem{"internal-error", "Something went wrong here", http.StatusInternalServerError, true}
)

// failure is one occurrence of a problem: the document, and what only the log
// hears.
type failure struct {
	document
	cause error
}

// document is the problem document (RFC 9457) as it is sent.
type document struct {
	Type            string              `json:"type"`
	Title           string              `json:"title"`
	Status          int                 `json:"status"`
	Detail          string              `json:"detail,omitempty"`
	Retryable       bool                `json:"retryable"`
	Errors          []accept.FieldError `json:"errors,omitempty"`
	DifferingFields []string            `json:"differingFields,omitempty"`
	Payment         *payment.View       `json:"payment,omitempty"` // the payment that stands in the way
	Limit           int                 `json:"limit,omitempty"`   // in bytes
}

// failure makes an occurrence. The detail is for the client and holds nothing that
// came in the request, except names of fields.
func (p problem) failure(detail string) *failure {
	return &failure{document: document{
		Type: problemPrefix + p.Name, Title: p.Title, Status: p.Status, Detail: detail, Retryable: p.Retryable,
	}}
}

func (f *failure) because(cause error) *failure {
	f.cause = cause
	return f
}

// Error implements error.
func (f *failure) Error() string { return f.Title + ": " + f.Detail }

// Unwrap returns the cause.
func (f *failure) Unwrap() error { return f.cause }

// explain makes a failure of any error of the database or of accept.
func explain(err error) *failure {
	var known *failure
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, accept.ErrBusy):
		return requestInProgress.failure("Another request holds this key, this invoice or this reference. Send this one again.").because(err)
	case errors.Is(err, accept.ErrUnavailable) || postgres.IsUnavailable(err) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return serviceUnavailable.failure("Send the same request with the same key again: it is not done twice.").because(err)
	default:
		return internalError.failure("Send the same request with the same key again: it is not done twice.").because(err)
	}
}

// fail sends the problem document and logs what is our own trouble.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := explain(err)
	switch {
	case r.Context().Err() != nil: // the client left and hears nothing
	case f.Status == http.StatusInternalServerError:
		a.Log.Error("request failed", zap.String("route", r.Pattern), zap.Error(f.cause))
	case f.Status == http.StatusServiceUnavailable:
		a.Log.Warn("request not served", zap.String("route", r.Pattern), zap.Error(f.cause))
	}
	header := w.Header()
	switch f.Status {
	case http.StatusUnauthorized:
		if f.Type == problemPrefix+unauthorized.Name {
			header.Set("WWW-Authenticate", `Bearer realm="payonce"`)
		}
	case http.StatusServiceUnavailable, http.StatusConflict:
		if f.Retryable {
			header.Set("Retry-After", retryAfter)
		}
	}
	body, err := json.Marshal(f.document)
	if err != nil {
		panic(err) // texts, numbers and a payment always render
	}
	send(w, f.Status, "application/problem+json", body)
}

// send writes an answer. States of payments change, so nothing keeps a copy.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) //nolint:gosec // JSON, never HTML; and a client that went away asks again
}
