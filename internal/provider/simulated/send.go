package simulated

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

const keyHeader = "Idempotency-Key"

// moveBody is the recipe of a request. encoding/json writes its fields in this
// order, so that the same operation always makes the same bytes.
type moveBody struct {
	Reference     string `json:"reference"`
	AmountMinor   int64  `json:"amountMinor,omitempty"`
	Currency      string `json:"currency,omitempty"`
	PaymentMethod string `json:"paymentMethod,omitempty"`
	Customer      string `json:"customer,omitempty"`
}

// Send implements provider.Connector.
func (c *Connector) Send(ctx context.Context, op provider.Operation, stop provider.StopDeadline) provider.Answer {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	req, err := c.moveRequest(ctx, op)
	if err != nil {
		return provider.Refused(provider.ReasonInvalidOperation, err)
	}
	reply, answer, ok := provider.Post(c.client, req, stop)
	if !ok {
		return answer
	}
	return c.sortMove(op, reply)
}

func (c *Connector) moveRequest(ctx context.Context, op provider.Operation) (*http.Request, error) {
	if err := op.Valid(); err != nil {
		return nil, err
	}
	body := moveBody{Reference: op.Reference}
	path := c.base.JoinPath("v1", "charges")
	switch op.Kind {
	case payment.KindCharge:
	case payment.KindRefund:
		path = path.JoinPath(url.PathEscape(op.ObjectID), "refunds")
	case payment.KindVoid:
		path = path.JoinPath(url.PathEscape(op.ObjectID), "void")
	}
	if op.Kind != payment.KindVoid { // a void takes all of its charge
		units, err := c.capabilities.Units(op.Amount)
		if err != nil {
			return nil, err
		}
		body.AmountMinor, body.Currency = units, string(op.Amount.Currency())
	}
	if op.Kind == payment.KindCharge {
		body.PaymentMethod, body.Customer = op.PaymentMethod, op.Customer
	}
	req, err := c.post(ctx, path, body)
	if err != nil {
		return nil, err
	}
	if c.capabilities.Key.Supported {
		req.Header.Set(keyHeader, op.ID.String())
	}
	return req, nil
}

func (c *Connector) post(ctx context.Context, address *url.URL, body any) (*http.Request, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address.String(), bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

// sortMove reads the provider's words about one request. Only these are an
// outcome: 201 with the movement, 422 with the provider's refusal, and the
// declared "not taken".
func (c *Connector) sortMove(op provider.Operation, reply provider.Reply) provider.Answer {
	switch reply.Status {
	case http.StatusCreated:
		var m movement
		if !decode(reply.Body, &m) || !m.whole() {
			return reply.Answer(provider.ReasonForeignAnswer)
		}
		return c.sortMovement(op, m, reply.Answer(""))
	case http.StatusUnprocessableEntity:
		code, own := problemCode(reply.Body)
		if !own {
			return reply.Answer(provider.ReasonForeignAnswer)
		}
		answer := reply.Answer(code)
		answer.Verdict = payment.VerdictDeclined
		return answer
	case http.StatusConflict:
		if code, own := problemCode(reply.Body); own && code == codeKeyReused {
			return reply.Answer(provider.ReasonKeyMismatch)
		}
		return reply.Answer(provider.ReasonForeignAnswer)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		_, own := problemCode(reply.Body)
		return reply.TryLater(c.capabilities, own)
	}
	return unclear(reply)
}

// unclear sorts the statuses that prove nothing, whoever wrote the body.
func unclear(reply provider.Reply) provider.Answer {
	if _, own := problemCode(reply.Body); own && reply.Status >= http.StatusInternalServerError {
		return reply.Answer(provider.ReasonServerError)
	}
	answer := reply.Answer(provider.ReasonForeignAnswer)
	answer.Err = fmt.Errorf("the provider answered with status %d", reply.Status)
	return answer
}
