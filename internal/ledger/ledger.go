// Package ledger owns the books.
//
//	outcome, casework ──> posting (lines that sum to zero) ──> accounts
//
// Its promise: entries are double, immutable, and sum to zero in every posting;
// a movement is booked only for an operation that succeeded, once, and for exactly
// its amount. Money that the provider says it took and that no payment accounts for
// stands in suspense while its case is open, and only then. A balance is what the
// entries say and is stored nowhere else, so it cannot drift. Corrections are new
// postings.
//
// Debits are positive and credits negative, in minor units.
package ledger

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
)

// Purpose says why something is booked. An operation has one posting for each
// purpose and case.
type Purpose string

// The purposes.
const (
	Movement   Purpose = "movement" // an operation succeeded
	Suspension Purpose = "suspense" // the provider says that it took money
	Adoption   Purpose = "adoption" // money in suspense became a charge's
	Reversal   Purpose = "reversal" // money in suspense was none of its own
)

// Posting books money: Amount from Credit to Debit.
type Posting struct {
	OperationID   uuid.UUID
	Purpose       Purpose
	CaseID        uuid.UUID // Nil unless a case is behind it
	Debit, Credit string    // account codes
	Amount        money.Amount
}

// ClearingAccount is what a provider account owes us.
func ClearingAccount(providerAccount string) string {
	return "provider:" + providerAccount + ":clearing"
}

// SuspenseAccount is what a provider account owes us for open cases: it is not
// decided yet whether it goes to a merchant or back.
func SuspenseAccount(providerAccount string) string {
	return "provider:" + providerAccount + ":suspense"
}

// PayableAccount is what we owe a merchant.
func PayableAccount(merchant uuid.UUID) string { return "merchant:" + merchant.String() + ":payable" }

// Charge books a captured card payment: the provider owes us, we owe the merchant.
func Charge(operation, merchant uuid.UUID, providerAccount string, amount money.Amount) Posting {
	return Posting{
		OperationID: operation, Purpose: Movement, Debit: ClearingAccount(providerAccount), Credit: PayableAccount(merchant), Amount: amount,
	}
}

// Refund books a merchant's refund, the reverse of its charge.
func Refund(operation, merchant uuid.UUID, providerAccount string, amount money.Amount) Posting {
	return Charge(operation, merchant, providerAccount, amount).reversed()
}

func (p Posting) reversed() Posting {
	p.Debit, p.Credit = p.Credit, p.Debit
	return p
}

// Held is money of a case that stands in suspense, or shall. What is said of it below
// is of money that came; of money that went out everything is booked in reverse.
type Held struct {
	CaseID, OperationID uuid.UUID // OperationID is the charge or refund that the case is about
	ProviderAccount     string
	Amount              money.Amount // what the provider said
	WentOut             bool         // the case is about a refund
}

// Suspend books what the provider says it took: it owes us, we do not know whom we owe.
func (h Held) Suspend() Posting {
	return h.posting(Suspension, ClearingAccount(h.ProviderAccount), SuspenseAccount(h.ProviderAccount))
}

// Adopt gives the money to the merchant whose charge it turned out to be.
func (h Held) Adopt(merchant uuid.UUID) Posting {
	return h.posting(Adoption, SuspenseAccount(h.ProviderAccount), PayableAccount(merchant))
}

// Reverse takes the suspense back: there was no such money besides what is booked.
func (h Held) Reverse() Posting {
	return h.posting(Reversal, SuspenseAccount(h.ProviderAccount), ClearingAccount(h.ProviderAccount))
}

// GiveBack books a refund or void of the money by the given operation.
func (h Held) GiveBack(compensation uuid.UUID) Posting {
	p := h.posting(Movement, SuspenseAccount(h.ProviderAccount), ClearingAccount(h.ProviderAccount))
	p.OperationID = compensation
	return p
}

func (h Held) posting(purpose Purpose, debit, credit string) Posting {
	p := Posting{OperationID: h.OperationID, Purpose: purpose, CaseID: h.CaseID, Debit: debit, Credit: credit, Amount: h.Amount}
	if h.WentOut {
		return p.reversed()
	}
	return p
}

//go:embed open_accounts.sql
var openAccountsSQL string

//go:embed post.sql
var postSQL string

// Queue adds the statements that open missing accounts and book the postings to
// a batch. Operations and cases must have moved before in the same transaction.
// When the batch runs, a posting that is there already, a wrong amount or a line
// that does not balance ends it with the database's refusal.
func Queue(batch *pgx.Batch, postings []Posting) {
	if len(postings) == 0 {
		return
	}
	codes, currencies := accounts(postings)
	batch.Queue(openAccountsSQL, codes, currencies)
	batch.Queue(postSQL,
		postgres.Column(postings, func(p Posting) uuid.UUID { return p.OperationID }),
		postgres.Column(postings, func(p Posting) string { return string(p.Purpose) }),
		postgres.Column(postings, func(p Posting) *uuid.UUID { return postgres.Given(p.CaseID) }),
		postgres.Column(postings, func(p Posting) string { return p.Debit }),
		postgres.Column(postings, func(p Posting) string { return p.Credit }),
		postgres.Column(postings, func(p Posting) int64 { return p.Amount.Minor() }),
		postgres.Column(postings, func(p Posting) string { return string(p.Amount.Currency()) }))
}

// accounts lists each account once, sorted, which is the order they are locked in.
func accounts(postings []Posting) (codes, currencies []string) {
	type account struct{ code, currency string }
	var all []account
	for _, p := range postings {
		unit := string(p.Amount.Currency())
		all = append(all, account{p.Debit, unit}, account{p.Credit, unit})
	}
	slices.SortFunc(all, func(a, b account) int {
		if c := strings.Compare(a.code, b.code); c != 0 {
			return c
		}
		return strings.Compare(a.currency, b.currency)
	})
	for _, a := range slices.Compact(all) {
		codes, currencies = append(codes, a.code), append(currencies, a.currency)
	}
	return codes, currencies
}

// Balance is one account's balance, recomputed from its entries. It is a bare
// number of minor units because it may exceed what one payment may be.
type Balance struct {
	Account  string
	Currency money.Currency
	Minor    int64
}

// Querier is what reads need: a pool or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

//go:embed balances.sql
var balancesSQL string

// Balances recomputes every account's balance from its entries, sorted by
// account. It reads all entries; it is for verification, not for requests.
func Balances(ctx context.Context, q Querier) ([]Balance, error) {
	rows, err := q.Query(ctx, balancesSQL)
	if err != nil {
		return nil, fmt.Errorf("reading balances: %w", err)
	}
	balances, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Balance])
	if err != nil {
		return nil, fmt.Errorf("reading balances: %w", err)
	}
	return balances, nil
}
