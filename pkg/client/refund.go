package client

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// RefundRequest asks for money to go back.
type RefundRequest struct {
	// Reference names the refund within its payment, for ever, also when it fails.
	Reference string
	// Amount is what goes back, when it is not all that is left.
	Amount money.Amount
	// All gives back what is left. One of the two is given: an Amount that was
	// forgotten must not empty a payment.
	All      bool
	Metadata map[string]string // kept, compared and never read
}

// refundBody is the request as it goes out.
type refundBody struct {
	RefundReference string            `json:"refundReference"`
	Amount          string            `json:"amount,omitempty"`
	Currency        money.Currency    `json:"currency,omitempty"`
	Metadata        map[string]string `json:"metadata,omitempty"`
}

// errAmountOrAll keeps a forgotten amount from being all of it.
var errAmountOrAll = errors.New("a refund needs an amount or all that is left, and not both")

func (r RefundRequest) encode() ([]byte, error) {
	if r.All != r.Amount.IsZero() {
		return nil, errAmountOrAll
	}
	body := refundBody{RefundReference: r.Reference, Metadata: r.Metadata}
	if !r.All {
		body.Amount, body.Currency = r.Amount.Decimal(), r.Amount.Currency()
	}
	return encode(body)
}

// RefundReceipt is the answer to a refund that was taken on.
type RefundReceipt struct {
	Refund   payment.RefundView
	Replayed bool // the intent had its refund already, and this is it
}

// Refund gives back money of a captured payment, and returns the refund: taken on,
// open or final. Its State says how it ended; only "failed" means that the money has
// not gone back.
//
// Errors are as those of Submit. A *ConflictError brings a payment that cannot be
// refunded as it is, or the refund that has this reference already.
func (c *Client) Refund(ctx context.Context, intent *Intent, id uuid.UUID, request RefundRequest) (RefundReceipt, error) {
	if err := intent.check(); err != nil {
		return RefundReceipt{}, err
	}
	body, err := request.encode()
	if err != nil {
		return RefundReceipt{}, err
	}
	post := call{method: http.MethodPost, path: paymentPath(id) + "/refunds", intent: intent, body: body}
	return ask(ctx, c, post, func(a answer, receipt *RefundReceipt) error {
		receipt.Replayed = a.replayed()
		if err := a.decode("application/json", &receipt.Refund); err != nil {
			return err
		}
		return request.answeredBy(receipt.Refund, id)
	})
}

// answeredBy refuses another refund's answer.
func (r RefundRequest) answeredBy(view payment.RefundView, id uuid.UUID) error {
	if view.ID == uuid.Nil || view.State == "" || view.PaymentID != id || view.RefundReference != r.Reference {
		return errors.New("it does not tell of this refund")
	}
	if !r.All && (view.Amount != r.Amount.Decimal() || view.Currency != r.Amount.Currency()) {
		return errors.New("it tells of another amount")
	}
	return nil
}

// GetRefund returns a refund as it is now, or a *ProblemError named "not-found".
func (c *Client) GetRefund(ctx context.Context, id uuid.UUID) (payment.RefundView, error) {
	return read(ctx, c, where{path: "/v1/refunds/" + id.String()}, func(view payment.RefundView) error {
		if view.ID != id || view.State == "" {
			return errors.New("it does not tell of this refund")
		}
		return nil
	})
}

// Refunds is one page of a payment's refunds.
type Refunds struct {
	Refunds []payment.RefundView `json:"refunds"`
	Next    string               `json:"next"` // the next page's Cursor; empty on the last one
}

// Refunds returns one page of a payment's refunds, oldest first.
func (c *Client) Refunds(ctx context.Context, id uuid.UUID, page Page) (Refunds, error) {
	return read(ctx, c, where{paymentPath(id) + "/refunds", page.query()}, anything[Refunds])
}
