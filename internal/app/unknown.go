package app

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/money"
)

// UnknownOperation is an operation whose outcome is open, or that waits for a person.
type UnknownOperation struct {
	OperationID uuid.UUID      `json:"operationId"`
	PaymentID   uuid.UUID      `json:"paymentId"`
	MerchantID  uuid.UUID      `json:"merchantId"`
	InvoiceID   string         `json:"invoiceId"`
	Kind        string         `json:"kind"`
	Account     string         `json:"account"`
	Amount      string         `json:"amount"`
	AmountMinor int64          `json:"amountMinor"`
	Currency    money.Currency `json:"currency"`
	State       string         `json:"state"`
	Reason      string         `json:"reason,omitempty"`
	Since       time.Time      `json:"since"`
	AgeSeconds  int64          `json:"ageSeconds"`
	NextCheckAt *time.Time     `json:"nextCheckAt,omitempty"`
	Owner       string         `json:"owner"`
}

// UnknownTotal sums one account's in one currency. AtRisk is the money of which it is
// not known whether it moved.
type UnknownTotal struct {
	Account          string         `json:"account"`
	Currency         money.Currency `json:"currency"`
	Operations       int            `json:"operations"`
	Unknown          int            `json:"unknown"`
	ForPerson        int            `json:"forPerson"`
	AtRisk           string         `json:"atRisk"`
	AtRiskMinor      string         `json:"atRiskMinor"`
	OldestAgeSeconds int64          `json:"oldestAgeSeconds"`
}

// UnknownPage is one page of what waits, with the totals of all pages.
type UnknownPage struct {
	Operations []UnknownOperation `json:"operations"`
	Totals     []UnknownTotal     `json:"totals"`
	// Next, if given, is the cursor of the next page.
	Next string `json:"next,omitempty"`
}

// UnknownFilter chooses what is listed.
type UnknownFilter struct {
	Account   string
	Owner     string // machine, person, or empty for both
	OlderThan time.Duration
	After     uuid.UUID // the cursor
	Limit     int       // of one page, up to operation.WaitingPageMax
}

// ListUnknown shows what waits, as it stands now.
func ListUnknown(ctx context.Context, environ []string, f UnknownFilter) (UnknownPage, error) {
	d, err := openDesk(ctx, environ)
	if err != nil {
		return UnknownPage{}, err
	}
	defer d.close()
	filter := operation.WaitingFilter{
		ProviderAccount: f.Account, WaitsFor: operation.Owner(f.Owner), OlderThan: f.OlderThan, After: f.After, Limit: f.Limit,
	}
	waiting, err := operation.ListWaiting(ctx, d.pool, filter)
	if err != nil {
		return UnknownPage{}, err
	}
	totals, err := operation.TotalWaiting(ctx, d.pool, filter)
	if err != nil {
		return UnknownPage{}, err
	}
	page := UnknownPage{Operations: []UnknownOperation{}, Totals: []UnknownTotal{}}
	for _, w := range waiting {
		page.Operations = append(page.Operations, unknownOperation(w))
	}
	for _, t := range totals {
		page.Totals = append(page.Totals, UnknownTotal{
			Account: t.ProviderAccount, Currency: t.Currency, Operations: t.Operations, Unknown: t.Unknown, ForPerson: t.ForPerson,
			AtRisk: decimal(t.AtRisk, t.Currency), AtRiskMinor: t.AtRisk, OldestAgeSeconds: seconds(t.Now.Sub(t.Oldest)),
		})
	}
	if len(waiting) > 0 && len(waiting) == f.Limit {
		page.Next = waiting[len(waiting)-1].OperationID.String()
	}
	return page, nil
}

func unknownOperation(w operation.Waiting) UnknownOperation {
	return UnknownOperation{
		OperationID: w.OperationID, PaymentID: w.PaymentID, MerchantID: w.MerchantID, InvoiceID: w.InvoiceID, Kind: string(w.Kind),
		Account: w.ProviderAccount, Amount: w.Amount.Decimal(), AmountMinor: w.Amount.Minor(), Currency: w.Amount.Currency(),
		State: string(w.State), Reason: w.Reason, Since: w.Since.UTC(), AgeSeconds: seconds(w.Now.Sub(w.Since)),
		NextCheckAt: inUTC(w.NextAt), Owner: string(w.WaitsFor),
	}
}

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

func inUTC(at *time.Time) *time.Time {
	if at == nil {
		return nil
	}
	return new(at.UTC())
}

// decimal sets the point in a sum of minor units, which may be larger than one amount
// may be.
func decimal(minor string, c money.Currency) string {
	decimals := c.Exponent()
	for len(minor) <= decimals {
		minor = "0" + minor
	}
	if decimals == 0 {
		return minor
	}
	return minor[:len(minor)-decimals] + "." + minor[len(minor)-decimals:]
}
