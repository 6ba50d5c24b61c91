package stripe

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// referenceKey is where Stripe keeps our reference: in the metadata of what we make.
const referenceKey = "operation_id"

// prepareKey makes a key of the PaymentIntent's creation out of the operation's.
// Another recipe has other keys: its other parameters would be refused under the old
// ones, and a second PaymentIntent that is never confirmed moves nothing.
//
// There are two, because Stripe keeps an error of its own as it keeps a success, and
// repeats it for a day (https://docs.stripe.com/api/idempotent_requests).
func prepareKey(op provider.Operation, turn int) string {
	return fmt.Sprintf("%s:prepare:%s:%d", op.ID, recipe, turn)
}

// prepareTurns are the keys of one Prepare.
const prepareTurns = 2

// exchange makes one request under a permit of its own. Without a whole reply ok is
// false, and the call says whether a byte of the request left. Otherwise the reply is
// in the call, with what stripe-go made of it.
func exchange[T any](ctx context.Context, stop provider.StopDeadline, do func(context.Context) (T, error)) (got T, said *call, ok bool) {
	ctx, permit := provider.WithPermit(ctx, stop)
	ctx, said = record(ctx)
	got, err := do(ctx)
	if !said.complete {
		said.unanswered = provider.Unanswered(permit.NotSent(), said.err)
		return got, said, false
	}
	said.err = err
	return got, said, true
}

// Prepare implements provider.Preparer: it creates the PaymentIntent, unconfirmed.
// Asked again with the same key, Stripe answers with the same PaymentIntent. Where it
// would only repeat an error of its own, the next key is tried.
func (c *Connector) Prepare(ctx context.Context, op provider.Operation, stop provider.StopDeadline) (string, provider.Answer) {
	params, err := c.intentParams(op)
	if err != nil {
		return "", provider.Refused(provider.ReasonInvalidOperation, err)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	for turn := 1; ; turn++ {
		params.SetIdempotencyKey(prepareKey(op, turn))
		intent, said, ok := exchange(ctx, stop, func(ctx context.Context) (*stripe.PaymentIntent, error) {
			return c.client.V1PaymentIntents.Create(ctx, params)
		})
		switch {
		case !ok:
			return "", provider.Refused(provider.ReasonNotPrepared, said.err)
		case said.spoiledItsKey() && turn < prepareTurns:
			continue
		}
		return c.sortPrepared(op, intent, said)
	}
}

func (c *Connector) intentParams(op provider.Operation) (*stripe.PaymentIntentCreateParams, error) {
	if op.Kind != payment.KindCharge {
		return nil, fmt.Errorf("a %s is not prepared", op.Kind)
	}
	if err := op.Valid(); err != nil {
		return nil, err
	}
	if op.PaymentMethod == "" {
		// Stripe makes the PaymentIntent all the same, and no confirm could succeed.
		return nil, errors.New("a charge needs a payment method")
	}
	units, err := c.capabilities.Units(op.Amount)
	if err != nil {
		return nil, err
	}
	params := &stripe.PaymentIntentCreateParams{
		Amount:        &units,
		Currency:      new(strings.ToLower(string(op.Amount.Currency()))),
		CaptureMethod: new("automatic"),
		// Nobody is there to be redirected, and without this Stripe wants a return URL.
		AutomaticPaymentMethods: &stripe.PaymentIntentCreateAutomaticPaymentMethodsParams{Enabled: new(true), AllowRedirects: new("never")},
		Metadata:                map[string]string{referenceKey: op.Reference},
		PaymentMethod:           &op.PaymentMethod,
		Customer:                given(op.Customer),
	}
	return params, nil
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Send implements provider.Connector. The key is the operation's id.
func (c *Connector) Send(ctx context.Context, op provider.Operation, stop provider.StopDeadline) provider.Answer {
	if err := c.sendable(op); err != nil {
		return provider.Refused(provider.ReasonInvalidOperation, err)
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch op.Kind {
	case payment.KindRefund:
		return c.refund(ctx, op, stop)
	case payment.KindVoid:
		return c.cancel(ctx, op, stop, op.ID.String())
	default:
		return c.confirm(ctx, op, stop)
	}
}

func (c *Connector) sendable(op provider.Operation) error {
	if err := op.Valid(); err != nil {
		return err
	}
	if op.ObjectID == "" {
		return errors.New("a charge needs its prepared PaymentIntent")
	}
	_, err := c.capabilities.Units(op.Amount)
	return err
}

// confirm moves the money.
func (c *Connector) confirm(ctx context.Context, op provider.Operation, stop provider.StopDeadline) provider.Answer {
	params := &stripe.PaymentIntentConfirmParams{OffSession: new(true)}
	params.SetIdempotencyKey(op.ID.String())
	intent, said, ok := exchange(ctx, stop, func(ctx context.Context) (*stripe.PaymentIntent, error) {
		return c.client.V1PaymentIntents.Confirm(ctx, op.ObjectID, params)
	})
	if !ok {
		return said.unanswered
	}
	if said.failed() {
		return c.sortRefusal(op, said)
	}
	return c.sortIntent(op, intent, said.reply)
}

// cancel voids a PaymentIntent that holds no money yet, and with it all confirms
// that may still arrive.
func (c *Connector) cancel(ctx context.Context, op provider.Operation, stop provider.StopDeadline, key string) provider.Answer {
	// A reason, because the wire refuses a POST without a body.
	params := &stripe.PaymentIntentCancelParams{CancellationReason: new("abandoned")}
	params.SetIdempotencyKey(key)
	intent, said, ok := exchange(ctx, stop, func(ctx context.Context) (*stripe.PaymentIntent, error) {
		return c.client.V1PaymentIntents.Cancel(ctx, op.ObjectID, params)
	})
	if !ok {
		return said.unanswered
	}
	if said.failed() {
		return c.sortRefusal(op, said)
	}
	return c.sortIntent(op, intent, said.reply)
}

func (c *Connector) refund(ctx context.Context, op provider.Operation, stop provider.StopDeadline) provider.Answer {
	units, err := c.capabilities.Units(op.Amount)
	if err != nil {
		return provider.Refused(provider.ReasonInvalidOperation, err)
	}
	params := &stripe.RefundCreateParams{
		PaymentIntent: &op.ObjectID, Amount: &units, Metadata: map[string]string{referenceKey: op.Reference},
	}
	params.SetIdempotencyKey(op.ID.String())
	refund, said, ok := exchange(ctx, stop, func(ctx context.Context) (*stripe.Refund, error) {
		return c.client.V1Refunds.Create(ctx, params)
	})
	if !ok {
		return said.unanswered
	}
	if said.failed() {
		return c.sortRefusal(op, said)
	}
	return c.sortRefund(op, refund, said.reply)
}

func (c *Connector) amount(units int64, currency stripe.Currency) money.Amount {
	return amountOf(c.capabilities, units, currency)
}

// amountOf reads Stripe's units, and is zero where they are no money that we know.
func amountOf(c provider.Capabilities, units int64, currency stripe.Currency) money.Amount {
	amount, err := c.FromUnits(units, money.Currency(strings.ToUpper(string(currency))))
	if err != nil {
		return money.Amount{}
	}
	return amount
}
