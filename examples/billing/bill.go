package billing

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed bill.sql
var billSQL string

// captured is a payment that is to be billed.
type captured struct {
	paymentID  uuid.UUID
	invoiceID  string
	merchantID uuid.UUID
	amount     money.Amount
	at         time.Time
	eventID    uuid.UUID
}

// bill writes one row per captured payment. It rejects what can never become a
// row; see inbox.Reject for what happens to the rest.
func bill(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
	payments := make([]captured, len(messages))
	for i, m := range messages {
		p, err := read(m)
		if err != nil {
			return inbox.Reject(err)
		}
		payments[i] = p
	}
	tag, err := tx.Exec(ctx, billSQL, columns(payments)...)
	if err != nil {
		return refusable(fmt.Errorf("billing %d payments: %w", len(payments), err))
	}
	if int(tag.RowsAffected()) != len(payments) {
		// The inbox found the event new, so another event has billed its payment:
		// one payment, captured twice. No one but a person can say what that means.
		return inbox.Reject(errors.New("the payment is billed already, by another event"))
	}
	return nil
}

// read takes the event apart and holds it to what payonce promises. The amount is
// there twice; if the two forms differ, neither is to be trusted.
func read(m inbox.Received) (captured, error) {
	var data event.Outcome
	if err := json.Unmarshal(m.Payload, &data); err != nil {
		return captured{}, fmt.Errorf("the data is no %s: %w", event.PaymentCaptured, err)
	}
	switch {
	case data.PaymentID != m.Key:
		return captured{}, errors.New("the data is about another payment than the record's key")
	case data.State != payment.StateCaptured:
		return captured{}, fmt.Errorf("the state is %.32q, not %q", data.State, payment.StateCaptured)
	case data.MerchantID == uuid.Nil || data.InvoiceID == "" || data.OccurredAt.IsZero():
		return captured{}, errors.New("merchantId, invoiceId or occurredAt is missing")
	}
	amount, err := readAmount(data)
	if err != nil {
		return captured{}, err
	}
	return captured{
		paymentID: data.PaymentID, invoiceID: data.InvoiceID, merchantID: data.MerchantID,
		amount: amount, at: data.OccurredAt, eventID: m.ID,
	}, nil
}

func readAmount(data event.Outcome) (money.Amount, error) {
	currency, err := money.ParseCurrency(string(data.Currency))
	if err != nil {
		return money.Amount{}, err
	}
	minor, err := strconv.ParseInt(data.AmountMinor, 10, 64)
	if err != nil {
		return money.Amount{}, errors.New("amountMinor is no whole number")
	}
	amount, err := money.New(minor, currency)
	if err != nil {
		return money.Amount{}, err
	}
	if minor <= 0 || amount.Decimal() != data.Amount {
		return money.Amount{}, fmt.Errorf("amount %.32q and amountMinor %d are not one amount above zero", data.Amount, minor)
	}
	return amount, nil
}

// columns turns payments into one array per column, in the order of bill.sql. Ids
// are text, which pgx can encode in every mode.
func columns(payments []captured) []any {
	n := len(payments)
	ids, invoices, merchants, eventIDs := make([]string, n), make([]string, n), make([]string, n), make([]string, n)
	minors, currencies, times := make([]int64, n), make([]string, n), make([]time.Time, n)
	for i, p := range payments {
		ids[i], invoices[i], merchants[i], eventIDs[i] = p.paymentID.String(), p.invoiceID, p.merchantID.String(), p.eventID.String()
		minors[i], currencies[i], times[i] = p.amount.Minor(), string(p.amount.Currency()), p.at
	}
	return []any{ids, invoices, merchants, minors, currencies, times, eventIDs}
}

// refusable rejects a message whose data PostgreSQL cannot store (class 22: data
// exception, such as a NUL character in a text): it could not tomorrow either. Every
// other trouble may pass.
func refusable(err error) error {
	var refused *pgconn.PgError
	if errors.As(err, &refused) && strings.HasPrefix(refused.Code, "22") {
		return inbox.Reject(err)
	}
	return err
}
