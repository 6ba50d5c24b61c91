package accept

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// RefundReferenceCharsMax bounds a refund's reference, as that of a payment is.
const RefundReferenceCharsMax = 128

// RefundsPerPaymentMax bounds the refunds of one payment, failed ones included. At each
// commit that moves one the database counts all of them again.
const RefundsPerPaymentMax = 500

// FieldRefundReference is the field's name, as clients know it.
const FieldRefundReference = "refundReference"

// RefundCommand asks for a refund, in the words of the client. What is nil or empty is
// absent.
type RefundCommand struct {
	Amendment

	Reference string  // unique for its payment for ever
	Amount    string  // a plain decimal; absent: all that is left
	Currency  *string // must be the payment's
	Metadata  []byte  // a JSON object
}

// Refunding is the answer to a request for a refund.
type Refunding struct {
	RefundID uuid.UUID
	Refund   payment.RefundView // not when Answer is there
	Answer   *Answer            // the final answer, when Replayed and final
	Replayed bool
}

// Refund takes a refund on. The payment's row is locked while it is looked at what is
// left, so that parallel refunds never come to more than was captured.
//
// Errors: those of idempotency.CheckKey, *InvalidError, *BarrierError, ErrNoTurn,
// ErrBusy, ErrUnavailable.
func (a Amendments) Refund(ctx context.Context, c RefundCommand) (Refunding, error) {
	if err := idempotency.CheckKey(c.IdempotencyKey); err != nil {
		return Refunding{}, err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return Refunding{}, fmt.Errorf("naming a refund: %w", err)
	}
	var done Refunding
	err = a.within(ctx, c.Amendment, func(ctx context.Context, tx pgx.Tx) error {
		view, err := own(ctx, tx, c.Amendment)
		if err != nil {
			return err
		}
		wanted, barred, err := c.validate(view.Currency) //nolint:contextcheck // a trace context is read from a header, nothing is waited for
		if err != nil {
			return err
		}
		wanted.OperationID = id
		entry := c.entry(id, wanted)
		known, err := a.reserve(ctx, tx, entry, barred)
		switch {
		case err != nil:
			return err
		case known != nil:
			done, err = replayed(ctx, tx, entry, *known)
		default:
			done, err = a.refund(ctx, tx, wanted, view.OperationID)
		}
		return err
	})
	return done, err
}

// validate applies the rules that need nothing of the payment but its currency. Barred
// stands against a refund whose key is new, as in Request; it is nil when nothing does.
// Another currency than the payment's is among that: under a known key it is a field that
// differs.
func (c RefundCommand) validate(currency money.Currency) (r operation.NewRefund, barred *InvalidError, err error) {
	var invalid, rules InvalidError
	r = operation.NewRefund{
		PaymentID: c.PaymentID, MerchantID: c.MerchantID, Reference: c.Reference, Metadata: invalid.parseMetadata(c.Metadata), Context: c.context(),
	}
	invalid.checkText(FieldRefundReference, c.Reference, RefundReferenceCharsMax)
	rules.refuseCardIn(c.Metadata)
	if c.ChecksIdentifiers {
		rules.refuseCard(FieldRefundReference, c.Reference)
		rules.refuseCard(FieldIdempotencyKey, c.IdempotencyKey)
	}
	if c.Currency != nil && *c.Currency != string(currency) {
		currency = invalid.parseCurrency(*c.Currency)
		rules.add(FieldCurrency, "is not the payment's")
	}
	if c.Amount != "" && currency != "" {
		r.Amount = invalid.parseAmountIn(c.Amount, currency)
	}
	switch {
	case len(invalid.Fields) > 0:
		return r, nil, invalid.and(rules)
	case len(rules.Fields) > 0:
		return r, &rules, nil
	}
	return r, nil, nil
}

// entry is the request as two requests are compared. An amount that is absent stays so:
// what is left changes, and a repeat must not become another request by that.
func (c RefundCommand) entry(id uuid.UUID, r operation.NewRefund) idempotency.Entry {
	fields := idempotency.Fields{FieldRefundReference: &c.Reference, FieldAmount: nil, FieldCurrency: c.Currency, FieldMetadata: nil}
	if !r.Amount.IsZero() {
		fields[FieldAmount] = new(strconv.FormatInt(r.Amount.Minor(), 10))
	}
	if r.Metadata != nil {
		fields[FieldMetadata] = hashed(r.Metadata)
	}
	return idempotency.Entry{
		Scope:      idempotency.Scope{MerchantID: c.MerchantID, Route: RouteRefunds, Key: c.IdempotencyKey},
		Request:    idempotency.Canonical{Method: http.MethodPost, Path: map[string]string{FieldID: c.PaymentID.String()}, Fields: fields},
		ResourceID: id,
	}
}

// replayed answers a repeat. The key is read again behind the refund: one that became
// final in between has its answer stored by the same commit.
func replayed(ctx context.Context, tx pgx.Tx, entry idempotency.Entry, known idempotency.Record) (Refunding, error) {
	view, err := kept(ctx, tx, entry.MerchantID, known.ResourceID)
	if err != nil {
		return Refunding{}, err
	}
	done := Refunding{RefundID: view.ID, Refund: view, Replayed: true}
	if !known.Answered() && view.State.Final() {
		records, err := idempotency.Read(ctx, tx, []idempotency.Entry{entry})
		if err != nil {
			return Refunding{}, err
		}
		known = records[0]
	}
	if known.Answered() {
		done.Answer = &Answer{known.Status, known.Body}
	}
	return done, nil
}

// refund locks the payment, behind the key, and takes the refund on if it may be.
func (a Amendments) refund(ctx context.Context, tx pgx.Tx, r operation.NewRefund, charge uuid.UUID) (Refunding, error) {
	rows, err := operation.Lock(ctx, tx, []uuid.UUID{charge})
	if err != nil {
		return Refunding{}, err
	}
	if r.Amount, err = a.admit(ctx, tx, r, rows[0]); err != nil {
		return Refunding{}, err
	}
	at, err := operation.CreateRefund(ctx, tx, r)
	if err != nil {
		return Refunding{}, err
	}
	asked, err := a.asked(r, at)
	if err != nil {
		return Refunding{}, err
	}
	batch := &pgx.Batch{}
	err = tell(batch, operation.History{PaymentID: r.PaymentID, OperationID: r.OperationID, To: payment.OperationCreated, Event: &asked})
	if err != nil {
		return Refunding{}, err
	}
	if err := tx.SendBatch(ctx, batch).Close(); err != nil {
		return Refunding{}, fmt.Errorf("recording refund %s: %w", r.OperationID, err)
	}
	view, err := kept(ctx, tx, r.MerchantID, r.OperationID)
	return Refunding{RefundID: r.OperationID, Refund: view}, err
}

// kept reads a refund that has a key.
func kept(ctx context.Context, tx pgx.Tx, merchant, id uuid.UUID) (payment.RefundView, error) {
	view, found, err := operation.Refund(ctx, tx, merchant, id)
	if err == nil && !found {
		err = fmt.Errorf("refund %s has a key and cannot be found", id)
	}
	return view, err
}

// admit returns what the refund is for, or what stands in its way. The charge is locked,
// and with it the payment.
func (a Amendments) admit(ctx context.Context, tx pgx.Tx, r operation.NewRefund, charge operation.Locked) (money.Amount, error) {
	first, taken, err := operation.RefundNamed(ctx, tx, r.PaymentID, r.Reference)
	if err != nil {
		return money.Amount{}, err
	}
	if taken {
		return money.Amount{}, &BarrierError{Barrier: BarrierReferenceUsed, Refund: &first}
	}
	may := charge.State == payment.OperationSucceeded
	if may {
		if may, err = operation.MayRefund(ctx, tx, charge.ID); err != nil {
			return money.Amount{}, err
		}
	}
	about := Amendment{MerchantID: r.MerchantID, PaymentID: r.PaymentID}
	if !may {
		return money.Amount{}, barred(ctx, tx, about, BarrierError{Barrier: BarrierNotRefundable})
	}
	refunds, doubted, err := operation.RefundRoom(ctx, tx, r.PaymentID)
	if err != nil {
		return money.Amount{}, err
	}
	if refunds >= RefundsPerPaymentMax {
		return money.Amount{}, barred(ctx, tx, about, BarrierError{Barrier: BarrierTooManyRefunds})
	}
	left, err := leftOf(charge, doubted)
	if err != nil {
		return money.Amount{}, err
	}
	amount := r.Amount
	if amount.IsZero() {
		amount = left
	}
	if left.Minor() <= 0 || amount.Minor() > left.Minor() {
		return money.Amount{}, barred(ctx, tx, about, BarrierError{Barrier: BarrierBeyondLimit, Left: left, Doubted: doubted > 0})
	}
	if a.Refundable != nil {
		if err := a.Refundable(charge.ProviderAccount, amount); err != nil {
			return money.Amount{}, &BarrierError{Barrier: BarrierNoRefunds, Problem: err.Error()}
		}
	}
	return amount, nil
}

// leftOf is what can still be refunded of a charge, while the provider says that more
// went out than is counted. It is nothing when that is all, or more than all.
func leftOf(charge operation.Locked, doubted int64) (money.Amount, error) {
	left, err := charge.Remaining()
	if err != nil {
		return money.Amount{}, err
	}
	return money.New(max(left.Minor()-doubted, 0), left.Currency())
}

// asked is the event that asks a worker to give the money back.
func (a Amendments) asked(r operation.NewRefund, at time.Time) (event.Event, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return event.Event{}, fmt.Errorf("naming an event: %w", err)
	}
	payload, err := event.Encode(event.RefundAsked{
		PaymentID: r.PaymentID, RefundID: r.OperationID, MerchantID: r.MerchantID, RefundReference: r.Reference,
		Amount: r.Amount.Decimal(), AmountMinor: strconv.FormatInt(r.Amount.Minor(), 10), Currency: r.Amount.Currency(),
	})
	if err != nil {
		return event.Event{}, fmt.Errorf("telling of refund %s: %w", r.OperationID, err)
	}
	return event.Event{
		ID: id, Type: event.RefundRequested, Source: a.Source, Topic: a.Topics.Requests, Key: r.PaymentID,
		Time: at, Context: r.Context, Payload: payload,
	}, nil
}
