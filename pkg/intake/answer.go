package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// FieldIdempotencyKey is how InvalidError names the key. The other fields have their
// names in HTTP's JSON.
const FieldIdempotencyKey = "idempotencyKey"

// Errors that callers branch on, beside those with types of their own.
var (
	// ErrBusy says that another transaction holds the key, the invoice or the
	// reference, or that PostgreSQL ended a deadlock. Roll back, so that nobody waits for
	// you meanwhile, and run the whole transaction again with the same key.
	ErrBusy = errors.New("another request with this key or for this payment is being worked on")
	// ErrExpired says that nothing is stored under the key, and that the key is
	// time-ordered (UUIDv7, ULID) and so old that what was stored may be gone: nobody
	// knows whether this is a repeat. Look the payment up by its invoice.
	ErrExpired = errors.New("the idempotency key is older than the time for which keys are stored")
	// ErrUnknownMerchant says that no merchant has the id.
	ErrUnknownMerchant = errors.New("there is no such merchant")
	// ErrIsolation says that the transaction is stricter than READ COMMITTED.
	ErrIsolation = errors.New("the transaction must be read committed")
	// ErrDurability says that synchronous_commit is off in the transaction: a crash of
	// the server would take back commits that were acknowledged.
	ErrDurability = errors.New("synchronous_commit must not be off: a crash would lose acknowledged payments")
)

// InvalidError says which fields break which rules. It holds no values. The same
// command never succeeds.
type InvalidError struct{ Fields []FieldError }

// FieldError is one broken rule.
type FieldError struct{ Field, Problem string }

// Error implements error.
func (e *InvalidError) Error() string {
	texts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		texts[i] = f.Field + " " + f.Problem
	}
	return "the command is not valid: " + strings.Join(texts, "; ")
}

// MismatchedError says that the key stands for another request, which is untouched.
type MismatchedError struct{ Differing []string } // names of fields, sorted

// Error implements error.
func (e *MismatchedError) Error() string {
	return "the idempotency key stands for another request; differing: " + strings.Join(e.Differing, ", ")
}

// ConflictError says that another live payment holds the invoice or the external
// reference. When that payment fails or is canceled, the command can be sent again.
type ConflictError struct {
	Field   string // what Payment holds: invoiceId or externalReference
	Payment payment.View
}

// Error implements error.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("payment %s is live for this %s", e.Payment.ID, e.Field)
}

// keyProblem says which rule a key breaks, in words that go on from the field's name.
func keyProblem(err error) string {
	switch {
	case errors.Is(err, idempotency.ErrKeyEmpty):
		return "is required and not empty"
	case errors.Is(err, idempotency.ErrKeyQuoted):
		return "must not begin with a quote"
	case errors.Is(err, idempotency.ErrKeyTooLong):
		return fmt.Sprintf("has more than %d characters", idempotency.KeyCharsMax)
	default:
		return "may only have visible ASCII characters"
	}
}

func answer(r accept.Result) (Result, error) {
	switch r.Outcome {
	case accept.OutcomeAccepted, accept.OutcomeReplayed:
		return shown(r)
	case accept.OutcomeMismatched:
		return Result{}, &MismatchedError{Differing: r.Differing}
	case accept.OutcomeConflicting:
		return Result{}, &ConflictError{Field: r.Holds, Payment: r.Payment}
	case accept.OutcomeExpired:
		return Result{}, ErrExpired
	case accept.OutcomeRefused:
		invalid := &InvalidError{}
		for _, f := range r.Refusal.Fields {
			invalid.Fields = append(invalid.Fields, FieldError(f))
		}
		return Result{}, invalid
	default:
		return Result{}, errors.New("a command was neither accepted nor refused")
	}
}

// shown gives the payment in both forms, whichever of them the answer came in.
func shown(r accept.Result) (Result, error) {
	result := Result{Payment: r.Payment, Replayed: r.Outcome == accept.OutcomeReplayed}
	if r.Answer == nil {
		var err error
		result.Body, err = r.Payment.Encode()
		return result, err
	}
	result.Body = r.Answer.Body
	if err := json.Unmarshal(result.Body, &result.Payment); err != nil {
		return Result{}, fmt.Errorf("reading the stored answer of payment %s: %w", r.PaymentID, err)
	}
	return result, nil
}

// busy names what may be tried again, and passes everything else on.
func busy(err error) error {
	if postgres.IsLockConflict(err) || errors.Is(err, idempotency.ErrKeyVanished) || errors.Is(err, operation.ErrNotHeld) ||
		errors.Is(err, operation.ErrEntangled) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}
