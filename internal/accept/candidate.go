package accept

import (
	"fmt"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
)

// candidate is a request on its way through a transaction.
type candidate struct {
	request Request
	entry   idempotency.Entry
	record  idempotency.Record // what the key stands for
	payment operation.NewPayment
	result  Result
}

// fresh reports whether the key was reserved for this very request.
func (c *candidate) fresh() bool { return c.record.ResourceID == c.payment.PaymentID }

// barred reports whether the request is only answered if its key is known.
func (c *candidate) barred() bool { return c.request.barred != nil }

// refused reports whether the request leaves nothing behind.
func (c *candidate) refused() bool {
	switch c.result.Outcome {
	case OutcomeRefused, OutcomeConflicting, OutcomeExpired:
		return true
	default:
		return false
	}
}

func newCandidate(request Request) (*candidate, error) {
	paymentID, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("naming a payment: %w", err)
	}
	operationID, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("naming an operation: %w", err)
	}
	origin := request.context
	if origin.CorrelationID == "" {
		origin.CorrelationID = paymentID.String()
	}
	return &candidate{
		request: request,
		entry: idempotency.Entry{
			Scope:      idempotency.Scope{MerchantID: request.merchantID, Route: Route, Key: origin.IdempotencyKey},
			Request:    request.canonical(),
			ResourceID: paymentID,
		},
		payment: operation.NewPayment{
			PaymentID: paymentID, OperationID: operationID, MerchantID: request.merchantID,
			InvoiceID: request.invoiceID, PaymentType: request.paymentType, ExternalReference: request.externalReference,
			Amount: request.amount, PaymentMethod: given(request.paymentMethod), Customer: given(request.customer),
			Metadata: request.metadata, ChargeBefore: request.chargeBefore,
			ProviderAccount: request.providerAccount, Context: origin,
		},
	}, nil
}

// splitByKey separates the first candidate of each key from those behind it.
func splitByKey(candidates []*candidate) (firsts, repeats []*candidate) {
	seen := make(map[idempotency.Scope]bool, len(candidates))
	for _, c := range candidates {
		if seen[c.entry.Scope] {
			repeats = append(repeats, c)
		} else {
			seen[c.entry.Scope] = true
			firsts = append(firsts, c)
		}
	}
	return firsts, repeats
}

func filter(candidates []*candidate, keep func(*candidate) bool) []*candidate {
	var kept []*candidate
	for _, c := range candidates {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

func entries(candidates []*candidate) []idempotency.Entry {
	return postgres.Column(candidates, func(c *candidate) idempotency.Entry { return c.entry })
}

func payments(candidates []*candidate) []operation.NewPayment {
	return postgres.Column(candidates, func(c *candidate) operation.NewPayment { return c.payment })
}

// given returns the text, or nothing when it is absent.
func given(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
