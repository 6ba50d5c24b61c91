// Package accept holds the rules of taking a payment on. HTTP, the Go library and
// the Kafka door are three callers of them.
//
//	Command ──Validate──> Request ──Accept──> key + identity + payment + operation + history + event
//
// Its promise: a payment is accepted once. Everything that belongs to it becomes
// visible in one commit or not at all; a request that is refused leaves nothing
// behind, not even its key; a repeated request gets the first one's payment.
// Nothing here calls a network other than the database's.
package accept

import (
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Route is the scope of keys that stand for payments, the same for all doors.
const Route = "payments"

// Rules are what a cell and its providers add to the rules of this package.
type Rules struct {
	Topic  string // where PaymentRequested goes
	Source string // event.Source(cell)
	// Chargeable says why a provider account cannot charge an amount: another
	// currency, or decimals that it cannot represent. Its error is shown to the
	// client. Nil takes every amount on.
	Chargeable func(providerAccount string, amount money.Amount) error
	// KeyWindow is how long keys are stored at least, whatever the door. 0 is
	// idempotency.WindowDefault. The sweeper's window must not be shorter.
	KeyWindow time.Duration
}

// Outcome is what became of a request.
type Outcome int

// The outcomes. The zero value is none of them.
const (
	// OutcomeAccepted says that the payment was taken on just now.
	OutcomeAccepted Outcome = iota + 1
	// OutcomeReplayed says that the key stands for this very request. Result
	// holds the stored answer, or the payment as it is now while it is open.
	OutcomeReplayed
	// OutcomeMismatched says that the key stands for another request, which is
	// untouched. Result names the fields that differ.
	OutcomeMismatched
	// OutcomeConflicting says that another live payment holds the invoice or the
	// external reference. Result holds that payment.
	OutcomeConflicting
	// OutcomeRefused says that the request is not one that can be taken on now.
	// Result says why. Nothing was stored.
	OutcomeRefused
	// OutcomeExpired says that nothing is stored under the key and that the key or the
	// command is so old that what was stored may be gone: see idempotency.Expired and
	// Command.SentAt. Nobody knows whether
	// the request is a repeat, so it is not taken on. Nothing was stored.
	OutcomeExpired
)

// Result is the answer to one request.
type Result struct {
	Outcome   Outcome
	PaymentID uuid.UUID     // not when Mismatched or Refused; when Expired what holds the invoice now, or none
	Payment   payment.View  // not when Answer is there
	Answer    *Answer       // the final answer, when Replayed and final
	Differing []string      // when Mismatched: names of fields, sorted
	Holds     string        // when Conflicting: the field that Payment holds
	Refusal   *InvalidError // when Refused
}

// Answer is a stored answer.
type Answer struct {
	Status int    // HTTP status
	Body   []byte // exactly these bytes
}
