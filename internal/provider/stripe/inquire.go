package stripe

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

const (
	pageSize = 100 // Stripe's own limit
	// refundPagesMax bounds the search for a refund among those of one charge.
	refundPagesMax = 10
)

// Inquire implements provider.Connector. A charge is asked for by its stored id, so
// "not taken" never rests on not having been found: it is the word of our own
// PaymentIntent that nobody confirmed it, or could, because it has no payment method.
// Without an id nothing needs to be asked,
// because the id is committed before the first confirm. An id that Stripe does not
// know belongs to another account and proves nothing.
func (c *Connector) Inquire(ctx context.Context, op provider.Operation) provider.Answer {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	switch {
	case op.Reference == "":
		return provider.Answer{Reason: provider.ReasonInvalidOperation}
	case op.ObjectID == "" && op.Kind == payment.KindCharge:
		return provider.Answer{Verdict: payment.VerdictNotTaken, Reason: provider.ReasonNotPrepared}
	case op.ObjectID == "":
		return provider.Answer{Reason: provider.ReasonInvalidOperation}
	case op.Kind == payment.KindRefund:
		return c.findRefund(ctx, op)
	}
	answer := c.retrieve(ctx, op)
	if op.Kind == payment.KindCharge && answer.Reason == provider.ReasonNotConfirmed {
		answer.Verdict = payment.VerdictNotTaken
	}
	return answer
}

func (c *Connector) retrieve(ctx context.Context, op provider.Operation) provider.Answer {
	ctx, said := record(ctx)
	intent, err := c.client.V1PaymentIntents.Retrieve(ctx, op.ObjectID, nil)
	if !said.complete {
		return provider.Unanswered(false, said.err)
	}
	said.err = err
	if said.failed() {
		return said.unclear()
	}
	return c.sortIntent(op, intent, said.reply)
}

// unclear sorts a question that Stripe did not answer.
func (c *call) unclear() provider.Answer {
	told := c.problem()
	if told == nil {
		return c.foreign()
	}
	answer := c.reply.Answer(reasonOf(told, c.reply.Status))
	answer.Err = plain(told)
	return answer
}

// findRefund looks for our reference among the refunds of the charge. Lists show
// what has been written, unlike searches.
func (c *Connector) findRefund(ctx context.Context, op provider.Operation) provider.Answer {
	after := ""
	for range refundPagesMax {
		page, said := c.refundsOf(ctx, op.ObjectID, after)
		switch {
		case !said.complete:
			return provider.Unanswered(false, said.err)
		case said.failed() || !isList(said.reply):
			return said.unclear()
		}
		for _, refund := range page.Data() {
			if refund.Metadata[referenceKey] == op.Reference {
				return c.sortRefund(op, refund, said.reply)
			}
			after = refund.ID
		}
		if !page.Meta().HasMore {
			answer := said.reply.Answer(provider.ReasonNotFound)
			answer.Verdict = payment.VerdictNotTaken
			return answer
		}
	}
	return provider.Answer{
		Reason: provider.ReasonNoAnswer,
		Err:    fmt.Errorf("the charge has more than %d refunds", refundPagesMax*pageSize),
	}
}

func (c *Connector) refundsOf(ctx context.Context, intent, after string) (*stripe.V1List[*stripe.Refund], *call) {
	ctx, said := record(ctx)
	params := &stripe.RefundListParams{PaymentIntent: &intent}
	params.Limit, params.Single, params.StartingAfter = new(int64(pageSize)), true, given(after)
	page := c.client.V1Refunds.List(ctx, params)
	if said.complete {
		said.err = page.Err()
	}
	return page, said
}

// CloseDoor implements provider.Connector: a PaymentIntent that is canceled charges
// nothing any more, and every operation on it fails. One that was never made cannot
// be confirmed either, because the caller lets nobody send any more.
//
// Each cancel has a key of its own. Under the same one Stripe would repeat its first
// answer, such as "it is processing", for a day.
func (c *Connector) CloseDoor(ctx context.Context, op provider.Operation) provider.Answer {
	switch {
	case op.Kind != payment.KindCharge:
		return provider.Answer{Reason: provider.ReasonUnsupported}
	case op.Reference == "":
		return provider.Answer{Reason: provider.ReasonInvalidOperation}
	case op.ObjectID == "":
		return provider.Answer{Verdict: payment.VerdictNotTaken, Reason: provider.ReasonDoorClosed}
	}
	key, err := uuid.NewRandom()
	if err != nil {
		return provider.Answer{Reason: provider.ReasonUnsupported, Err: err}
	}
	stop := provider.NewStopDeadline(time.Now().Add(c.capabilities.Timeout))
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	return closed(c.cancel(ctx, op, stop, key.String()))
}

// closed reads what became of the PaymentIntent. Only a canceled one is a closed
// door: after a decline it could be confirmed again.
func closed(answer provider.Answer) provider.Answer {
	switch {
	case answer.Verdict == payment.VerdictCaptured: // too late
	case answer.Verdict == payment.VerdictDeclined && answer.Reason == provider.ReasonVoided:
		answer.Verdict, answer.Reason = payment.VerdictNotTaken, provider.ReasonDoorClosed
	default:
		answer.Verdict = payment.VerdictUnclear
	}
	return answer
}
