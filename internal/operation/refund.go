package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// NewRefund is a merchant's refund as it was accepted.
type NewRefund struct {
	OperationID, PaymentID, MerchantID uuid.UUID

	Reference string // the merchant's name for it, unique for its payment for ever
	Amount    money.Amount
	Metadata  []byte // a JSON object, or nil
	Context   event.Context
}

//go:embed create_refund.sql
var createRefundSQL string

//go:embed count_refunds.sql
var countRefundsSQL string

//go:embed may_refund.sql
var mayRefundSQL string

//go:embed is_denied.sql
var isDeniedSQL string

//go:embed refund_room.sql
var refundRoomSQL string

//go:embed may_cancel.sql
var mayCancelSQL string

// CreateRefund inserts a refund, born created and due a MessageGrace later, counts it on
// its payment, and returns when it was accepted. The payment must be locked, and the
// amount within what is left: more, a payment that was not captured, or a reference that
// is taken is the database's refusal.
func CreateRefund(ctx context.Context, tx pgx.Tx, r NewRefund) (time.Time, error) {
	var at time.Time
	err := tx.QueryRow(ctx, createRefundSQL, r.OperationID, r.PaymentID, r.Amount.Minor(), MessageGrace, r.Reference,
		postgres.Given(string(r.Metadata)), r.Context.TraceParent, r.Context.CorrelationID, r.Context.IdempotencyKey).Scan(&at)
	if err != nil {
		return time.Time{}, fmt.Errorf("inserting refund %s: %w", r.OperationID, err)
	}
	return at.UTC(), nil
}

// MayRefund reports whether the money of a charge that succeeded may be asked back: the
// provider has named it, does not deny it, and no case gives it back. The charge must be
// locked.
func MayRefund(ctx context.Context, tx pgx.Tx, charge uuid.UUID) (bool, error) {
	return asked(ctx, tx, mayRefundSQL, charge)
}

// IsDenied reports that the provider's newest word about a movement of an operation is a
// no, where a webhook's word is never the newest. One without a name is never denied.
func IsDenied(ctx context.Context, q Querier, id uuid.UUID, movement string) (bool, error) {
	rows, err := q.Query(ctx, isDeniedSQL, id, movement)
	if err != nil {
		return false, fmt.Errorf("reading what is said about %s of operation %s: %w", movement, id, err)
	}
	denied, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[bool])
	if err != nil {
		return false, fmt.Errorf("reading what is said about %s of operation %s: %w", movement, id, err)
	}
	return denied, nil
}

// RefundRoom says how many refunds a payment has had, and how much, in minor units, the
// provider says went out by them besides what the payment counts: money of which a person
// or the reconciler has to say whose it is. The payment must be locked.
func RefundRoom(ctx context.Context, tx pgx.Tx, payment uuid.UUID) (refunds int, doubted int64, err error) {
	if err := tx.QueryRow(ctx, refundRoomSQL, payment).Scan(&refunds, &doubted); err != nil {
		return 0, 0, fmt.Errorf("reading what was refunded of payment %s: %w", payment, err)
	}
	return refunds, doubted, nil
}

// MayCancel reports whether an operation that waits to be sent was surely never sent,
// and cannot be any more. The operation must be locked.
func MayCancel(ctx context.Context, tx pgx.Tx, id uuid.UUID) (bool, error) {
	return asked(ctx, tx, mayCancelSQL, id)
}

func asked(ctx context.Context, tx pgx.Tx, sql string, id uuid.UUID) (bool, error) {
	var yes bool
	if err := tx.QueryRow(ctx, sql, id).Scan(&yes); err != nil {
		return false, fmt.Errorf("asking about operation %s: %w", id, err)
	}
	return yes, nil
}

// FitsPayment reports whether a merchant's refund that does not count yet may: with it,
// the payment's refunds do not exceed what was captured. What is no such refund fits.
func (l Locked) FitsPayment() bool {
	if l.RefundReference == nil {
		return true
	}
	left, err := l.Remaining()
	return err == nil && l.Payment.State == payment.StateCaptured && l.Amount.Minor() <= left.Minor()
}

// Remaining is what of a locked operation's payment can still be refunded. It is no
// amount of money above zero when everything is.
func (l Locked) Remaining() (money.Amount, error) { return l.Payment.Amount.Sub(l.Payment.Refunded) }

// refunded is the sum of the payment's refunds once the move is made.
func (m Move) refunded() (money.Amount, error) {
	switch m.counted() {
	case -1:
		return m.From.Payment.Refunded.Sub(m.From.Amount)
	case +1:
		return m.From.Payment.Refunded.Add(m.From.Amount)
	}
	return m.From.Payment.Refunded, nil
}

// counted is how often more than before the move a refund counts: a refund that fails
// ceases to, and one that took place after all counts again.
func (m Move) counted() int {
	switch before, after := m.From.counts(m.From.State), m.From.counts(m.To.State); {
	case before && !after:
		return -1
	case !before && after:
		return +1
	}
	return 0
}

func (l Locked) counts(s payment.OperationState) bool {
	return l.RefundReference != nil && s != payment.OperationFailed && s != payment.OperationCanceled
}

// queueRefunded adds the statement that follows refunds which begin or cease to count.
func queueRefunded(batch *pgx.Batch, moves []Move) {
	var counted []Move
	distinct := map[uuid.UUID]bool{}
	for _, m := range moves {
		if m.counted() != 0 {
			counted, distinct[m.From.PaymentID] = append(counted, m), true
		}
	}
	if len(counted) == 0 {
		return
	}
	batch.Queue(countRefundsSQL,
		postgres.Column(counted, func(m Move) uuid.UUID { return m.From.PaymentID }),
		postgres.Column(counted, func(m Move) int64 { return int64(m.counted()) * m.From.Amount.Minor() }),
		postgres.Column(counted, func(m Move) time.Time { return m.From.Now }),
	).Exec(expectTouched("counting refunds", len(distinct)))
}
