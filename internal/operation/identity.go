package operation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
)

// ErrEntangled is returned when one payment of a call was refused for the sake
// of another that was then refused itself. Accept them one at a time.
var ErrEntangled = errors.New("payments of one group want each other's identities")

// ErrNotHeld is returned when an identity was let go again and again while it was
// being asked for. Nothing is held; try again.
var ErrNotHeld = errors.New("an identity changed hands while it was being held")

// holdTries is far more than an identity changes hands between two statements.
const holdTries = 5

//go:embed hold_invoices.sql
var holdInvoicesSQL string

//go:embed read_invoice_holders.sql
var readInvoiceHoldersSQL string

//go:embed hold_references.sql
var holdReferencesSQL string

//go:embed read_reference_holders.sql
var readReferenceHoldersSQL string

//go:embed identity_of.sql
var identityOfSQL string

//go:embed let_go_invoices.sql
var letGoInvoicesSQL string

// HoldIdentities claims the business identity of each payment: its invoice with
// its type, and its external reference when it has one. For a payment that
// could not hold both, the result names the live payment that does, and nothing
// stays held for the refused one. Two payments of one call may want the same
// identity: one of them gets it. It waits for a concurrent transaction that
// holds the same identity, at most as long as the transaction's lock_timeout.
func HoldIdentities(ctx context.Context, tx pgx.Tx, payments []NewPayment) (map[uuid.UUID]uuid.UUID, error) {
	taken, err := hold(ctx, tx, holdInvoicesSQL, readInvoiceHoldersSQL, invoices(payments))
	if err != nil {
		return nil, fmt.Errorf("holding invoices: %w", err)
	}
	var referenced []NewPayment
	for _, p := range payments {
		if _, refused := taken[p.PaymentID]; !refused && p.ExternalReference != nil {
			referenced = append(referenced, p)
		}
	}
	if len(referenced) == 0 {
		return taken, nil
	}
	refused, err := hold(ctx, tx, holdReferencesSQL, readReferenceHoldersSQL, []any{
		postgres.Column(referenced, func(p NewPayment) uuid.UUID { return p.MerchantID }),
		postgres.Column(referenced, func(p NewPayment) string { return *p.ExternalReference }),
		postgres.Column(referenced, func(p NewPayment) uuid.UUID { return p.PaymentID }),
	})
	if err != nil {
		return nil, fmt.Errorf("holding external references: %w", err)
	}
	if len(refused) > 0 {
		if _, err := tx.Exec(ctx, letGoInvoicesSQL, slices.Collect(maps.Keys(refused))); err != nil {
			return nil, fmt.Errorf("letting go of refused invoices: %w", err)
		}
	}
	for _, holder := range taken {
		if _, gone := refused[holder]; gone {
			return nil, ErrEntangled
		}
	}
	maps.Copy(taken, refused)
	return taken, nil
}

// InvoiceHolders names for each payment that was not taken on the one that holds its
// invoice and payment type, if one does. It waits for nobody and holds nothing.
func InvoiceHolders(ctx context.Context, tx pgx.Tx, payments []NewPayment) (map[uuid.UUID]uuid.UUID, error) {
	holders, err := readHolders(ctx, tx, readInvoiceHoldersSQL, invoices(payments))
	if err != nil {
		return nil, fmt.Errorf("reading who holds invoices: %w", err)
	}
	return holders, nil
}

// invoices are the columns of what payments want.
func invoices(payments []NewPayment) []any {
	return []any{
		postgres.Column(payments, func(p NewPayment) uuid.UUID { return p.MerchantID }),
		postgres.Column(payments, func(p NewPayment) string { return p.InvoiceID }),
		postgres.Column(payments, func(p NewPayment) string { return p.PaymentType }),
		postgres.Column(payments, func(p NewPayment) uuid.UUID { return p.PaymentID }),
	}
}

// HoldAgain claims the identity of a payment that had let go of it. It returns the
// live payment that holds it, which is the payment itself when it now does, or
// still did. Call it before Lock, and LetGo or roll back when nothing comes of it: a
// payment that stays failed must not hold an invoice.
func HoldAgain(ctx context.Context, tx pgx.Tx, payment uuid.UUID) (holder uuid.UUID, err error) {
	p := NewPayment{PaymentID: payment}
	err = tx.QueryRow(ctx, identityOfSQL, payment).Scan(&p.MerchantID, &p.InvoiceID, &p.PaymentType, &p.ExternalReference)
	if err != nil {
		return uuid.Nil, fmt.Errorf("reading the identity of payment %s: %w", payment, err)
	}
	taken, err := HoldIdentities(ctx, tx, []NewPayment{p})
	if err != nil {
		return uuid.Nil, err
	}
	if other, ok := taken[payment]; ok {
		return other, nil
	}
	return payment, nil
}

// LetGo releases the identity of a payment that stays failed or canceled.
func LetGo(ctx context.Context, tx pgx.Tx, payment uuid.UUID) error {
	if _, err := tx.Exec(ctx, releaseIdentitiesSQL, []uuid.UUID{payment}); err != nil {
		return fmt.Errorf("letting go of the identity of payment %s: %w", payment, err)
	}
	return nil
}

// hold inserts what is free and then asks who holds what. It repeats while
// somebody holds nothing: between the two statements the payment that was in the
// way can fail and let go, and whoever came in between would then believe to hold
// what nobody holds, and the next one would pay the same invoice again.
func hold(ctx context.Context, tx pgx.Tx, insert, read string, wanted []any) (map[uuid.UUID]uuid.UUID, error) {
	payments := wanted[len(wanted)-1].([]uuid.UUID)
	for range holdTries {
		if _, err := tx.Exec(ctx, insert, wanted...); err != nil {
			return nil, err
		}
		holders, err := readHolders(ctx, tx, read, wanted)
		if err != nil {
			return nil, err
		}
		if len(holders) < len(payments) {
			continue
		}
		maps.DeleteFunc(holders, func(payment, holder uuid.UUID) bool { return payment == holder })
		return holders, nil
	}
	return nil, ErrNotHeld
}

// readHolders returns who holds what each payment wants, the payment itself
// included.
func readHolders(ctx context.Context, tx pgx.Tx, read string, wanted []any) (map[uuid.UUID]uuid.UUID, error) {
	rows, err := tx.Query(ctx, read, wanted...)
	if err != nil {
		return nil, err
	}
	holders := map[uuid.UUID]uuid.UUID{}
	var payment, holder uuid.UUID
	_, err = pgx.ForEachRow(rows, []any{&payment, &holder}, func() error {
		holders[payment] = holder
		return nil
	})
	return holders, err
}
