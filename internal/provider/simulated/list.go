package simulated

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// listed is a movement with what only a list says of it.
type listed struct {
	movement
	Kind      payment.Kind `json:"kind"`
	CreatedAt time.Time    `json:"createdAt"`
}

// List implements provider.Lister. The provider lists from a time on, oldest first,
// so that the last page is the one that reaches the window's end.
func (c *Connector) List(ctx context.Context, q provider.ListQuery) (provider.Page, error) {
	address := c.base.JoinPath("v1", "charges")
	parameters := url.Values{"since": {q.From.UTC().Format(time.RFC3339Nano)}}
	if q.Cursor != "" {
		parameters.Set("after", q.Cursor)
	}
	address.RawQuery = parameters.Encode()
	var told struct {
		Charges *[]listed `json:"charges"`
		Next    string    `json:"next"`
	}
	if err := c.read(ctx, address, &told); err != nil {
		return provider.Page{}, fmt.Errorf("listing movements: %w", err)
	}
	if told.Charges == nil {
		return provider.Page{}, errors.New("listing movements: the answer is no list")
	}
	page := provider.Page{Next: told.Next}
	for _, l := range *told.Charges {
		if !l.CreatedAt.Before(q.To) {
			page.Next = ""
			break
		}
		if !l.whole() {
			return provider.Page{}, errors.New("listing movements: an entry is no movement")
		}
		page.Movements = append(page.Movements, c.listed(l))
	}
	return page, nil
}

func (c *Connector) listed(l listed) provider.Movement {
	m := provider.Movement{Reference: l.Reference, ObjectID: l.ID, Kind: l.Kind, CreatedAt: l.CreatedAt}
	if amount, err := c.capabilities.FromUnits(l.AmountMinor, money.Currency(l.Currency)); err == nil {
		m.Amount = amount
	}
	switch l.Status {
	case statusCaptured:
		m.Verdict = payment.VerdictCaptured
	case statusPending:
		m.Verdict = payment.VerdictPending
	case statusDeclined, statusVoided:
		m.Verdict = payment.VerdictDeclined
	}
	return m
}

// read asks a question that moves nothing and is about no operation.
func (c *Connector) read(ctx context.Context, address *url.URL, into any) error {
	ctx, cancel := c.bounded(ctx)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return err
	}
	reply, answer, ok := provider.Get(c.client, req)
	if !ok {
		return answer.Err
	}
	if reply.Status != http.StatusOK || !decode(reply.Body, into) {
		return fmt.Errorf("the provider answered with status %d", reply.Status)
	}
	return nil
}
