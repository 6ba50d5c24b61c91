package client

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/payonce/payonce/pkg/payment"
)

// problemPrefix begins the type of every problem of payonce.
const problemPrefix = "urn:payonce:problem:"

// Errors that callers branch on.
var (
	// ErrUnresolved says that the outcome of an intent is not known: a request may
	// have arrived, and no answer says what became of it. The payment is not failed.
	// Ask again with the same intent; errors.As to *UnresolvedError tells it.
	ErrUnresolved = errors.New("the outcome is not known; ask again with the same intent")
	// ErrStillOpen says that Await's time was over before the payment was final, and
	// that its last look saw it open. It is being worked on, and not failed.
	ErrStillOpen = errors.New("the payment is still open")
	// ErrUnknown says that Await's last look saw nothing: the payment may be open,
	// paid or failed. Look again.
	ErrUnknown = errors.New("the payment's state is not known")
)

// ProblemError is a refusal by payonce (RFC 9457): this request was not carried out, and
// nothing of it was stored. A *KeyReusedError and a *ConflictError hold one, too, and
// say what was stored before.
type ProblemError struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Retryable bool   `json:"retryable"` // the same request, under the same key, may succeed later
	// Errors are the rules that the request breaks.
	Errors []FieldError `json:"errors"`
	// DifferingFields are what an earlier request with the same key had otherwise.
	DifferingFields []string `json:"differingFields"`
	// Payment and Refund are what stands in the way.
	Payment *payment.View       `json:"payment"`
	Refund  *payment.RefundView `json:"refund"`
	// RetryAfter is what payonce asked to wait before a repeat.
	RetryAfter time.Duration `json:"-"`
}

// FieldError is one broken rule.
type FieldError struct {
	Field   string `json:"field"`
	Problem string `json:"problem"`
}

// Name returns the stable name of the kind of problem, such as "invalid-request" or
// "not-found".
func (p *ProblemError) Name() string { return strings.TrimPrefix(p.Type, problemPrefix) }

// Error implements error.
func (p *ProblemError) Error() string {
	return fmt.Sprintf("%s (%s, status %d): %s", p.Title, p.Name(), p.Status, p.Detail)
}

// reused reports whether the key stands for a request that was taken on.
func (p *ProblemError) reused() bool { return p.Name() == "idempotency-key-reused" }

// conflict reports whether the problem brings what stands in the way.
func (p *ProblemError) conflict() bool { return p.Payment != nil || p.Refund != nil }

// ConflictError says that what is there already stands in the way, and brings it: the
// invoice or the external reference has a live payment, the payment cannot be canceled
// or refunded as it is, or it has a refund with this reference. Show that one; it is
// never a reason to pay or to refund by another way. errors.As to *ProblemError works.
//
// It tells of this moment. When an earlier request of the intent went unanswered it is
// the Cause of an *UnresolvedError, because that one may still arrive when what stands
// in the way has failed. Show it all the same, and keep the intent.
type ConflictError struct {
	Payment *payment.View       // or nil
	Refund  *payment.RefundView // or nil
	problem *ProblemError
}

// Error implements error.
func (e *ConflictError) Error() string { return e.problem.Error() }

// Unwrap returns the *ProblemError.
func (e *ConflictError) Unwrap() error { return e.problem }

// KeyReusedError says that a request with other values was taken on under the intent:
// it has its payment, cancel or refund. Nothing came of this request, and none of
// another intent may take its place: ask with the values of the first one, or look for
// the invoice. errors.As to *ProblemError works.
type KeyReusedError struct {
	Intent          *Intent
	DifferingFields []string // what the first request had otherwise
	problem         *ProblemError
}

// Error implements error.
func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("intent %s: another request was taken on under it, with other %s: %s",
		e.Intent, strings.Join(e.DifferingFields, ", "), e.problem)
}

// Unwrap returns the *ProblemError.
func (e *KeyReusedError) Unwrap() error { return e.problem }

// UnresolvedError is ErrUnresolved with what is needed to go on.
type UnresolvedError struct {
	Intent *Intent // to ask again with
	// Cause is what the last request met. A *ProblemError that is not retryable has to be
	// put right before asking again can help, and what a *ConflictError brings has to end.
	Cause error
}

// Error implements error.
func (e *UnresolvedError) Error() string {
	return fmt.Sprintf("intent %s: %s: %s", e.Intent, ErrUnresolved, e.Cause)
}

// Unwrap returns ErrUnresolved and the cause.
func (e *UnresolvedError) Unwrap() []error { return []error{ErrUnresolved, e.Cause} }
