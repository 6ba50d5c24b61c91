package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/payment"
)

// where is what is read.
type where struct {
	path  string
	query url.Values
}

// read asks for something that no request changes. check refuses an answer that
// tells of something else.
func read[T any](ctx context.Context, c *Client, w where, check func(T) error) (T, error) {
	get := call{method: http.MethodGet, path: w.path, query: w.query.Encode()}
	return ask(ctx, c, get, func(a answer, found *T) error {
		if err := a.decode("application/json", found); err != nil {
			return err
		}
		return check(*found)
	})
}

// anything is the check of what cannot tell of something else.
func anything[T any](T) error { return nil }

// Page is where a list goes on, and how much of it is read.
type Page struct {
	Cursor string // Next of the page before; empty for the first one
	Limit  int    // 1 to 100 entries; 0 for payonce's own choice
}

func (p Page) query() url.Values {
	query := url.Values{}
	set(query, "cursor", p.Cursor)
	if p.Limit != 0 {
		query.Set("limit", strconv.Itoa(p.Limit))
	}
	return query
}

func set(query url.Values, name, value string) {
	if value != "" {
		query.Set(name, value)
	}
}

// Filter chooses payments. What is empty chooses nothing away; InvoiceID and
// ExternalReference are not given together.
type Filter struct {
	InvoiceID         string
	ExternalReference string
	State             payment.State
	CreatedAfter      time.Time
	CreatedBefore     time.Time
}

// Payments is one page of a list of payments.
type Payments struct {
	Payments []payment.View `json:"payments"`
	Next     string         `json:"next"` // the next page's Cursor; empty on the last one
}

// List returns one page of the merchant's payments, newest first.
func (c *Client) List(ctx context.Context, filter Filter, page Page) (Payments, error) {
	query := page.query()
	set(query, "invoiceId", filter.InvoiceID)
	set(query, "externalReference", filter.ExternalReference)
	set(query, "state", string(filter.State))
	for name, at := range map[string]time.Time{"createdAfter": filter.CreatedAfter, "createdBefore": filter.CreatedBefore} {
		if !at.IsZero() {
			query.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return read(ctx, c, where{"/v1/payments", query}, anything[Payments])
}

// Event is one thing that happened to a payment's charge or to one of its refunds.
type Event struct {
	OperationID uuid.UUID    `json:"operationId"`
	Kind        payment.Kind `json:"kind"`
	// From and To are the payment's states where Kind is charge, and a refund's own
	// where it is refund. From is nil when the operation was made.
	From   *string   `json:"from"`
	To     string    `json:"to"`
	Reason *string   `json:"reason"`
	At     time.Time `json:"at"`
	// Told is the message that told of it on Kafka; nil when none did.
	Told *struct {
		ID   uuid.UUID `json:"id"`
		Type string    `json:"type"`
	} `json:"event"`
}

// Events is one page of what happened to a payment.
type Events struct {
	Events []Event `json:"events"`
	Next   string  `json:"next"` // the next page's Cursor; empty on the last one
}

// Events returns one page of what happened to a payment, oldest first.
func (c *Client) Events(ctx context.Context, id uuid.UUID, page Page) (Events, error) {
	return read(ctx, c, where{paymentPath(id) + "/events", page.query()}, anything[Events])
}
