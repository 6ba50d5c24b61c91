// Package ledger owns the books.
//
//	outcome ──> posting (lines that sum to zero) ──> accounts
//
// Its promise: entries are double, immutable, and sum to zero in every posting;
// a posting exists only for an operation that succeeded, once, and for exactly
// its amount. A balance is what the entries say and is stored nowhere else, so
// it cannot drift. Corrections are new postings.
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

// Posting books one operation's movement: Amount from Credit to Debit.
type Posting struct {
	OperationID   uuid.UUID
	Debit, Credit string // account codes
	Amount        money.Amount
}

// ClearingAccount is what a provider account owes us.
func ClearingAccount(providerAccount string) string {
	return "provider:" + providerAccount + ":clearing"
}

// PayableAccount is what we owe a merchant.
func PayableAccount(merchant uuid.UUID) string { return "merchant:" + merchant.String() + ":payable" }

// Charge books a captured card payment: the provider owes us, we owe the merchant.
func Charge(operation, merchant uuid.UUID, providerAccount string, amount money.Amount) Posting {
	return Posting{OperationID: operation, Debit: ClearingAccount(providerAccount), Credit: PayableAccount(merchant), Amount: amount}
}

//go:embed open_accounts.sql
var openAccountsSQL string

//go:embed post.sql
var postSQL string

// Queue adds the statements that open missing accounts and book the postings to
// a batch. The operations must have moved to succeeded before in the same
// transaction. When the batch runs, a second posting for an operation, a wrong
// amount or a line that does not balance ends it with the database's refusal.
func Queue(batch *pgx.Batch, postings []Posting) {
	if len(postings) == 0 {
		return
	}
	codes, currencies := accounts(postings)
	batch.Queue(openAccountsSQL, codes, currencies)
	batch.Queue(postSQL,
		postgres.Column(postings, func(p Posting) uuid.UUID { return p.OperationID }),
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
