package accept

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// showHolders names for each request that is too old the payment that holds its
// invoice, if one does. It may be what the request asked for when its key was stored,
// and who is told only that the request is too old takes a new key and pays again.
func showHolders(ctx context.Context, tx pgx.Tx, candidates []*candidate) error {
	expired := filter(candidates, func(c *candidate) bool { return c.result.Outcome == OutcomeExpired })
	if len(expired) == 0 {
		return nil
	}
	holders, err := operation.InvoiceHolders(ctx, tx, payments(expired))
	if err != nil {
		return err
	}
	for _, c := range expired {
		c.result.PaymentID = holders[c.payment.PaymentID]
	}
	return nil
}

// Holder is the payment that holds the invoice of a request that is too old, or nil.
func (r Result) Holder() *payment.View {
	if r.Outcome != OutcomeExpired || r.PaymentID == uuid.Nil {
		return nil
	}
	return &r.Payment
}
