package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// PaymentRequest asks for one payment. InvoiceID, PaymentType and Amount are needed.
type PaymentRequest struct {
	InvoiceID         string
	PaymentType       string
	Amount            money.Amount
	PaymentMethod     string            // the provider's token, never a card number
	Customer          string            // the provider's name for the customer
	ExternalReference string            // unique per merchant among payments that live
	Metadata          map[string]string // kept, compared and never read
	ChargeBefore      time.Time         // the last moment at which it may be charged
}

// paymentBody is the request as it goes out.
type paymentBody struct {
	InvoiceID         string            `json:"invoiceId"`
	PaymentType       string            `json:"paymentType"`
	Amount            string            `json:"amount"`
	Currency          money.Currency    `json:"currency"`
	PaymentMethod     string            `json:"paymentMethod,omitempty"`
	Customer          string            `json:"customer,omitempty"`
	ExternalReference string            `json:"externalReference,omitempty"`
	Metadata          map[string]string `json:"metadata,omitempty"`
	ChargeBefore      *time.Time        `json:"chargeBefore,omitempty"`
}

func (r PaymentRequest) encode() ([]byte, error) {
	body := paymentBody{
		InvoiceID: r.InvoiceID, PaymentType: r.PaymentType, Amount: r.Amount.Decimal(), Currency: r.Amount.Currency(),
		PaymentMethod: r.PaymentMethod, Customer: r.Customer, ExternalReference: r.ExternalReference, Metadata: r.Metadata,
	}
	if !r.ChargeBefore.IsZero() {
		utc := r.ChargeBefore.UTC()
		body.ChargeBefore = &utc
	}
	return encode(body)
}

func encode(body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, errNotJSON
	}
	return encoded, nil
}

// errNotJSON stands for errors of the encoder, which could quote a token.
var errNotJSON = errors.New("the request cannot be put into JSON: is its text UTF-8?")

// Receipt is the answer to a request that was taken on.
type Receipt struct {
	Payment  payment.View
	Replayed bool // the intent had its payment already, and this is it
}

// Submit asks for the payment of an intent and returns it: taken on, open or final,
// whichever it is. A final payment may have failed; Receipt.Payment.State says so,
// and no error does.
//
// Errors: *KeyReusedError, the intent has a payment of another request;
// ErrUnresolved, nobody here knows, ask again with the same intent; *ConflictError and
// any other *ProblemError, nothing was taken on. Look for them in this order; either
// of the last two may be an ErrUnresolved's cause. When ctx ends the answer is
// ErrUnresolved as soon as a request was sent.
func (c *Client) Submit(ctx context.Context, intent *Intent, request PaymentRequest) (Receipt, error) {
	if err := intent.check(); err != nil {
		return Receipt{}, err
	}
	body, err := request.encode()
	if err != nil {
		return Receipt{}, err
	}
	post := call{method: http.MethodPost, path: "/v1/payments", intent: intent, body: body}
	return ask(ctx, c, post, func(a answer, receipt *Receipt) error {
		receipt.Replayed = a.replayed()
		if err := a.view(&receipt.Payment); err != nil {
			return err
		}
		return request.answeredBy(receipt.Payment)
	})
}

// answeredBy refuses another payment's answer, from a cache or a proxy that mixes
// its connections up.
func (r PaymentRequest) answeredBy(view payment.View) error {
	if view.InvoiceID != r.InvoiceID || view.PaymentType != r.PaymentType || view.Amount != r.Amount.Decimal() ||
		view.Currency != r.Amount.Currency() {
		return errors.New("it tells of another payment")
	}
	return nil
}

// view reads a payment.
func (a answer) view(to *payment.View) error {
	if err := a.decode("application/json", to); err != nil {
		return err
	}
	if to.ID == uuid.Nil || to.State == "" {
		return errors.New("it is no payment")
	}
	return nil
}

// Get returns the payment as it is now. It repeats what can be repeated; of a
// payment that does not exist, or is another merchant's, it returns a *ProblemError
// named "not-found".
func (c *Client) Get(ctx context.Context, id uuid.UUID) (payment.View, error) {
	return read(ctx, c, where{path: paymentPath(id)}, func(view payment.View) error { return isPayment(view, id) })
}

func paymentPath(id uuid.UUID) string { return "/v1/payments/" + id.String() }

func isPayment(view payment.View, id uuid.UUID) error {
	if view.ID != id || view.State == "" {
		return errors.New("it does not tell of this payment")
	}
	return nil
}

// Cancel ends a payment that was not sent to its provider, and returns it as it is
// then. A cancel has an intent of its own, like every request that changes something.
//
// Errors are as those of Submit: a *ConflictError brings a payment that can no longer
// be canceled. It will have an outcome, and what was captured can be refunded.
func (c *Client) Cancel(ctx context.Context, intent *Intent, id uuid.UUID) (payment.View, error) {
	if err := intent.check(); err != nil {
		return payment.View{}, err
	}
	post := call{method: http.MethodPost, path: paymentPath(id) + "/cancel", intent: intent, body: []byte("{}")}
	return ask(ctx, c, post, func(a answer, view *payment.View) error {
		if err := a.view(view); err != nil {
			return err
		}
		return isPayment(*view, id)
	})
}

// Await's pauses between two looks: short for a charge that takes a moment, long for
// one that waits for its provider.
const (
	lookFirst   = 50 * time.Millisecond
	lookLongest = 5 * time.Second
)

// Await looks at a payment until it is final. Otherwise it returns the payment as it
// was last seen, or the zero View, and one of two errors. ErrStillOpen: ctx ended, and
// the last look saw the payment open. ErrUnknown with what the last look met: it saw
// nothing, because ctx cut it off, or payonce could not be reached for as long as
// Retry allows, or said that there is no such payment (*ProblemError "not-found").
func (c *Client) Await(ctx context.Context, id uuid.UUID) (payment.View, error) {
	pauses := Retry{First: lookFirst, Longest: lookLongest}.pauses()
	for seen := (payment.View{}); ; {
		view, err := c.Get(ctx, id)
		switch {
		case err != nil:
			return seen, fmt.Errorf("payment %s: %w: %w", id, ErrUnknown, err)
		case view.State.Final():
			return view, nil
		}
		seen = view
		if err := wait(ctx, pauses.NextBackOff()); err != nil {
			return seen, fmt.Errorf("payment %s: %w: %w", id, ErrStillOpen, err)
		}
	}
}
