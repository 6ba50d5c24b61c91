package accept

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// The scopes of the keys of cancels and refunds.
const (
	RouteCancel  = "cancel"
	RouteRefunds = "refunds"
)

// FieldID is the payment's id in the path, as Differing names it.
const FieldID = "id"

// Amendments cancel accepted payments and take refunds of captured ones on, each in a
// transaction of its own, AmendmentsMax at once, and half of them of one merchant. They
// wait for their turn, and then for whoever holds the key or the payment, at most
// KeyWaitMax for each. Make it with NewAmendments.
type Amendments struct {
	AmendmentRules

	turns *turns
}

// NewAmendments returns amendments by the rules.
func NewAmendments(rules AmendmentRules) Amendments { return Amendments{rules, newTurns()} }

// AmendmentRules are what amendments need.
type AmendmentRules struct {
	Pool   *pgxpool.Pool
	Topics event.Topics
	Source string // event.Source(cell)
	// KeyWindow is for how long keys are stored at least; 0 is idempotency.WindowDefault.
	KeyWindow time.Duration
	// Refundable says why a provider account cannot give an amount back. Its error is
	// shown to the client. Nil takes every refund on.
	Refundable func(providerAccount string, amount money.Amount) error
}

// Amendment asks for something about a payment, in the words of the client.
type Amendment struct {
	MerchantID     uuid.UUID // from the credential
	PaymentID      uuid.UUID
	IdempotencyKey string
	// ChecksIdentifiers is the merchant's setting: the key, and a refund's reference, are
	// looked at for card numbers, too.
	ChecksIdentifiers bool

	// As in Command.
	TraceParent, CorrelationID, CausationID string
}

// context is what every event that follows carries on.
func (a Amendment) context() event.Context {
	c := Command{
		IdempotencyKey: a.IdempotencyKey, TraceParent: a.TraceParent, CorrelationID: a.CorrelationID, CausationID: a.CausationID,
	}.Context()
	c.CorrelationID = cmp.Or(c.CorrelationID, a.PaymentID.String())
	return c
}

// Barrier says what stands in the way of an amendment.
type Barrier int

// The barriers. Nothing was stored when one of them stands.
const (
	BarrierNoPayment      Barrier = iota + 1 // the merchant has no such payment
	BarrierKeyReused                         // the key stands for another request; Differing names the fields
	BarrierKeyExpired                        // nothing is stored under the key, and what was may be gone
	BarrierNotCancelable                     // the payment was sent, or may have been, or is final
	BarrierNotRefundable                     // the payment is not captured, or it is in doubt what the provider holds
	BarrierReferenceUsed                     // Refund has the reference already
	BarrierTooManyRefunds                    // the payment has had RefundsPerPaymentMax
	BarrierBeyondLimit                       // more than Left would be refunded
	BarrierNoRefunds                         // the provider cannot give this back; Problem says why
)

// BarrierError says why an amendment was not made.
type BarrierError struct {
	Barrier   Barrier
	Differing []string
	Payment   *payment.View       // when NotCancelable, NotRefundable, TooManyRefunds or BeyondLimit: as it stands
	Refund    *payment.RefundView // when ReferenceUsed: the first refund
	Left      money.Amount        // when BeyondLimit: what can be refunded; zero when nothing can
	Doubted   bool                // when BeyondLimit: money of a refund went out that nobody has accounted for yet
	Problem   string              // when NoRefunds
}

// Error implements error.
func (e *BarrierError) Error() string { return fmt.Sprintf("barrier %d stands", e.Barrier) }

// within does one amendment of a payment, in its turn. An error leaves nothing behind.
func (a Amendments) within(ctx context.Context, about Amendment, amend func(context.Context, pgx.Tx) error) error {
	leave, err := a.turns.enter(ctx, place{about.MerchantID, about.PaymentID})
	if err != nil {
		return explained(err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	return explained(whileItDissolves(func() error {
		return pgx.BeginTxFunc(ctx, a.Pool, groupcommit.BeginWithLockWait(KeyWaitMax), func(tx pgx.Tx) error {
			return amend(ctx, tx)
		})
	}))
}

// own returns the payment, if it is the merchant's.
func own(ctx context.Context, tx pgx.Tx, about Amendment) (payment.View, error) {
	views, err := operation.Views(ctx, tx, about.MerchantID, []uuid.UUID{about.PaymentID})
	if err != nil {
		return payment.View{}, err
	}
	view, found := views[about.PaymentID]
	if !found {
		return view, &BarrierError{Barrier: BarrierNoPayment}
	}
	return view, nil
}

// reserve takes the key for a request, or returns what it stands for already. Another
// request than that one meets a barrier, and so does a key that may have been swept. For
// a request that is barred no key is taken, and its error is that.
func (a Amendments) reserve(ctx context.Context, tx pgx.Tx, entry idempotency.Entry, barred *InvalidError) (*idempotency.Record, error) {
	if barred != nil {
		found, err := idempotency.LookUp(ctx, tx, []idempotency.Entry{entry})
		if err != nil {
			return nil, err
		}
		if found[0] == nil {
			return nil, barred
		}
		return compared(*found[0], entry)
	}
	records, err := idempotency.Reserve(ctx, tx, []idempotency.Entry{entry})
	if err != nil {
		return nil, err
	}
	record := records[0]
	if record.ResourceID == entry.ResourceID {
		if idempotency.Expired(entry.Key, record.ReservedAt, cmp.Or(a.KeyWindow, idempotency.WindowDefault)) {
			return nil, &BarrierError{Barrier: BarrierKeyExpired}
		}
		return nil, nil
	}
	return compared(record, entry)
}

// compared returns what a key stands for, if that is this request.
func compared(record idempotency.Record, entry idempotency.Entry) (*idempotency.Record, error) {
	differing, err := record.Differences(entry.Request)
	if err == nil && len(differing) > 0 {
		err = &BarrierError{Barrier: BarrierKeyReused, Differing: differing}
	}
	return &record, err
}

// barred is a barrier that shows the payment as it stands, which the caller has locked.
func barred(ctx context.Context, tx pgx.Tx, about Amendment, b BarrierError) error {
	view, err := own(ctx, tx, about)
	if err != nil {
		return err
	}
	b.Payment = &view
	return &b
}

// explained sorts the errors of a transaction into those that callers branch on. Any
// other, such as a barrier, stays as it is.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case postgres.IsLockConflict(err) || dissolved(err):
		return fmt.Errorf("%w: %w", ErrBusy, err)
	case postgres.IsUnanswered(err) || errors.Is(err, groupcommit.ErrStopped):
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return err
}
