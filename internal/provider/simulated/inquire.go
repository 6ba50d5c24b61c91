package simulated

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// list is the answer to an inquiry. Charges is a pointer, because only a list that
// is there and empty says "not found": any other JSON object has no list.
type list struct {
	Charges *[]movement `json:"charges"`
}

// Inquire implements provider.Connector.
func (c *Connector) Inquire(ctx context.Context, op provider.Operation) provider.Answer {
	if !c.capabilities.Inquiry.Supported {
		return provider.Answer{Reason: provider.ReasonUnsupported}
	}
	if op.Reference == "" {
		return provider.Answer{Reason: provider.ReasonInvalidOperation}
	}
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	address := c.byReference("", op.Reference)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return provider.Answer{Reason: provider.ReasonInvalidOperation, Err: err}
	}
	reply, answer, ok := provider.Get(c.client, req)
	if !ok {
		return answer
	}
	var found list
	if reply.Status != http.StatusOK || !decode(reply.Body, &found) || found.Charges == nil {
		return unclear(reply)
	}
	return c.sortFound(op, *found.Charges, reply)
}

func (c *Connector) byReference(suffix, reference string) string {
	address := c.base.JoinPath("v1", "charges", suffix)
	address.RawQuery = url.Values{"reference": {reference}}.Encode()
	return address.String()
}

// sortFound reads a list of movements with our reference. One that took place
// outweighs one that is pending, and that one a decline: after a decline another
// try with the same reference may have gone through. Of several that took place, the
// first one over our amount is ours, and the others are named beside it; so is what is
// void, because that may be what we had taken for ours.
func (c *Connector) sortFound(op provider.Operation, found []movement, reply provider.Reply) provider.Answer {
	if len(found) == 0 {
		answer := reply.Answer(provider.ReasonNotFound)
		answer.Verdict = payment.VerdictNotTaken
		return answer
	}
	best, at, took := provider.Answer{}, 0, 0
	answers := make([]provider.Answer, len(found))
	for i, m := range found {
		answers[i] = reply.Answer(provider.ReasonForeignAnswer)
		if m.whole() {
			answers[i] = c.sortMovement(op, m, reply.Answer(""))
		}
		if m.Status == statusCaptured {
			took++
		}
		if i == 0 || weight(op, answers[i]) > weight(op, best) {
			best, at = answers[i], i
		}
	}
	if took > 1 {
		best.Reason = provider.ReasonSeveralCharges
		best.Err = fmt.Errorf("the provider holds %d movements with reference %s", took, op.Reference)
	}
	if best.Verdict == payment.VerdictCaptured {
		best.Others = others(op, answers, at)
	}
	return best
}

// others are the movements that took place, or were undone, besides the one at the
// index.
func others(op provider.Operation, answers []provider.Answer, at int) []provider.Movement {
	var more []provider.Movement
	for i, a := range answers {
		if i != at && (a.Verdict == payment.VerdictCaptured || a.Reason == provider.ReasonVoided) {
			more = append(more, provider.Movement{
				Reference: op.Reference, ObjectID: a.ObjectID, Kind: op.Kind, Verdict: a.Verdict, Amount: a.Amount,
			})
		}
	}
	return more
}

// weight orders answers about one reference by what they commit us to. An unclear
// one outweighs a decline, which must not hide it.
func weight(op provider.Operation, a provider.Answer) int {
	switch a.Verdict {
	case payment.VerdictCaptured:
		if a.Amount == op.Amount {
			return 4
		}
		return 3
	case payment.VerdictPending:
		return 2
	case payment.VerdictUnclear:
		return 1
	default:
		return 0
	}
}

// door is the answer to a void by reference.
type door struct {
	Reference string      `json:"reference"`
	Closed    bool        `json:"closed"`
	Charges   *[]movement `json:"charges"`
}

// CloseDoor implements provider.Connector.
func (c *Connector) CloseDoor(ctx context.Context, op provider.Operation) provider.Answer {
	if !c.capabilities.VoidByReference {
		return provider.Answer{Reason: provider.ReasonUnsupported}
	}
	if op.Reference == "" {
		return provider.Answer{Reason: provider.ReasonInvalidOperation}
	}
	stop := provider.NewStopDeadline(time.Now().Add(c.capabilities.Timeout))
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	address, err := url.Parse(c.byReference("void", op.Reference))
	if err != nil {
		return provider.Answer{Reason: provider.ReasonInvalidOperation, Err: err}
	}
	req, err := c.post(ctx, address, struct{}{}) // "{}": the wire refuses a POST without a body
	if err != nil {
		return provider.Answer{Reason: provider.ReasonInvalidOperation, Err: err}
	}
	reply, answer, ok := provider.Post(c.client, req, stop)
	if !ok {
		return answer
	}
	return c.sortDoor(op, reply)
}

// sortDoor concludes "no money is held and none can follow" only from the
// provider's word that the door is closed, and from each movement behind it.
func (c *Connector) sortDoor(op provider.Operation, reply provider.Reply) provider.Answer {
	var d door
	if reply.Status != http.StatusOK || !decode(reply.Body, &d) || d.Charges == nil {
		return unclear(reply)
	}
	if d.Reference != op.Reference {
		return reply.Answer(provider.ReasonReferenceMismatch)
	}
	if !d.Closed {
		return unclear(reply)
	}
	answer := c.sortFound(op, *d.Charges, reply)
	switch answer.Verdict {
	case payment.VerdictDeclined, payment.VerdictNotTaken:
		if answer.Reason != provider.ReasonVoided {
			answer.Reason = provider.ReasonDoorClosed
		}
		answer.Verdict = payment.VerdictNotTaken
	case payment.VerdictPending:
		answer.Verdict = payment.VerdictUnclear // a door that leaves it pending is not closed
	default: // captured is too late; unclear stays so
	}
	return answer
}
