package stripe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// refundsMark begins the cursors of the second half of a list. No id of Stripe's
// begins so.
const refundsMark = "refunds:"

// List implements provider.Lister: PaymentIntents, then refunds, that were created
// in the window, the newest first. Stripe counts time in seconds; the window's
// borders are cut to them, so that windows that meet leave nothing out and overlap
// in nothing.
func (c *Connector) List(ctx context.Context, q provider.ListQuery) (provider.Page, error) {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	if after, refunds := strings.CutPrefix(q.Cursor, refundsMark); refunds {
		return c.listRefunds(ctx, q, after)
	}
	return c.listIntents(ctx, q, q.Cursor)
}

func window(q provider.ListQuery) *stripe.RangeQueryParams {
	return &stripe.RangeQueryParams{GreaterThanOrEqual: q.From.Unix(), LesserThan: q.To.Unix()}
}

func (c *Connector) listIntents(ctx context.Context, q provider.ListQuery, after string) (provider.Page, error) {
	params := &stripe.PaymentIntentListParams{CreatedRange: window(q)}
	params.Limit, params.Single, params.StartingAfter = new(int64(pageSize)), true, given(after)
	ctx, said := record(ctx)
	list := c.client.V1PaymentIntents.List(ctx, params)
	if err := said.listed(list.Err()); err != nil {
		return provider.Page{}, fmt.Errorf("listing PaymentIntents: %w", err)
	}
	page := provider.Page{Next: refundsMark}
	for _, intent := range list.Data() {
		page.Movements = append(page.Movements, listedIntent(c.capabilities, intent))
		if list.Meta().HasMore {
			page.Next = intent.ID
		}
	}
	return page, nil
}

func (c *Connector) listRefunds(ctx context.Context, q provider.ListQuery, after string) (provider.Page, error) {
	params := &stripe.RefundListParams{CreatedRange: window(q)}
	params.Limit, params.Single, params.StartingAfter = new(int64(pageSize)), true, given(after)
	ctx, said := record(ctx)
	list := c.client.V1Refunds.List(ctx, params)
	if err := said.listed(list.Err()); err != nil {
		return provider.Page{}, fmt.Errorf("listing refunds: %w", err)
	}
	var page provider.Page
	for _, refund := range list.Data() {
		page.Movements = append(page.Movements, listedRefund(c.capabilities, refund))
		if list.Meta().HasMore {
			page.Next = refundsMark + refund.ID
		}
	}
	return page, nil
}

// listed returns why the reply is no page of Stripe's.
func (c *call) listed(err error) error {
	switch {
	case !c.complete:
		return c.err
	case err != nil || !isList(c.reply):
		return plain(err)
	}
	return nil
}

func listedIntent(c provider.Capabilities, intent *stripe.PaymentIntent) provider.Movement {
	m := provider.Movement{
		Reference: intent.Metadata[referenceKey], ObjectID: intent.ID, Kind: payment.KindCharge,
		Amount: amountOf(c, intent.Amount, intent.Currency), CreatedAt: time.Unix(intent.Created, 0).UTC(),
	}
	verdict, reason := verdictOf(intent)
	m.Verdict = verdict
	switch {
	case verdict == payment.VerdictCaptured:
		m.Amount = amountOf(c, intent.AmountReceived, intent.Currency)
	case reason == provider.ReasonNotConfirmed:
		m.Verdict = payment.VerdictNotTaken
	}
	return m
}

func listedRefund(c provider.Capabilities, refund *stripe.Refund) provider.Movement {
	m := provider.Movement{
		Reference: refund.Metadata[referenceKey], ObjectID: refund.ID, Kind: payment.KindRefund,
		Amount: amountOf(c, refund.Amount, refund.Currency), CreatedAt: time.Unix(refund.Created, 0).UTC(),
	}
	m.Verdict, _ = verdictOfRefund(refund)
	return m
}
