package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Check is an open operation that one reconciler looks at now, with all that
// the derived strategy needs to know. Times are the database's.
type Check struct {
	OperationID, PaymentID  uuid.UUID
	Kind                    payment.Kind
	ProviderAccount         string
	Amount                  money.Amount
	ChargeBefore            *time.Time
	State                   payment.OperationState
	Fence                   int64
	Checks                  int // this one included
	OpenSince               time.Time
	WaitsFor                Owner
	ProviderObjectID        *string // what the question is about: of a refund or void, its charge's object
	PaymentMethod, Customer *string

	AskedAt           time.Time  // before any question is sent
	FirstPossibleSend time.Time  // of attempts not proven unsent
	LastPossibleSend  time.Time  // of attempts not proven unsent
	Sends             int        // attempts not proven unsent
	NotFoundAskedAt   *time.Time // the newest inquiry that found nothing
	DoorClosedAt      *time.Time // the newest closing of the door
	Closing           bool       // the provider was, or may have been, asked to close the door
	// Recipe is that of the first attempt that is known, whose bytes a resend has. If all
	// were lost it is an @ and their account at the provider, and empty if not even that
	// is known, or nothing was sent.
	Recipe string
	// Lost means that attempts, and what they left behind, may have been lost with
	// commits of the database (see Epoch).
	Lost bool
	// ObjectInDoubt means that ProviderObjectID was not stored yet when a loss was recorded, or
	// is not stored: what was lost may have acted on another object. Of a refund or void it says nothing.
	ObjectInDoubt bool
}

//go:embed take_checks.sql
var takeChecksSQL string

//go:embed read_sends.sql
var readSendsSQL string

// TakeChecks takes at most limit operations of the accounts whose next look is
// due, and puts that look off by lease, within which the caller should be done.
func TakeChecks(ctx context.Context, q Querier, accounts []string, limit int, lease time.Duration) ([]Check, error) {
	rows, err := q.Query(ctx, takeChecksSQL, accounts, limit, lease)
	if err != nil {
		return nil, fmt.Errorf("taking checks: %w", err)
	}
	checks, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Check, error) {
		var c Check
		var minor int64
		var currency money.Currency
		err := row.Scan(&c.OperationID, &c.PaymentID, &c.Kind, &c.ProviderAccount, &minor, &currency, &c.ChargeBefore,
			&c.State, &c.Fence, &c.Checks, &c.OpenSince, &c.WaitsFor, &c.ProviderObjectID, &c.PaymentMethod, &c.Customer, &c.AskedAt)
		if err != nil {
			return Check{}, err
		}
		c.Amount, err = money.New(minor, currency)
		return c, err
	})
	if err != nil {
		return nil, fmt.Errorf("taking checks: %w", err)
	}
	if len(checks) == 0 {
		return nil, nil
	}
	return checks, readSends(ctx, q, checks)
}

// readSends adds what was sent and said of operations that are taken, never read before
// that: else the fence could be that of a resend which the counts do not know of.
func readSends(ctx context.Context, q Querier, checks []Check) error {
	taken := make(map[uuid.UUID]*Check, len(checks))
	for i := range checks {
		taken[checks[i].OperationID] = &checks[i]
	}
	rows, err := q.Query(ctx, readSendsSQL, postgres.Column(checks, func(c Check) uuid.UUID { return c.OperationID }),
		postgres.Column(checks, func(c Check) *string { return c.ProviderObjectID }),
		postgres.Column(checks, func(c Check) time.Time { return c.AskedAt }))
	if err != nil {
		return fmt.Errorf("reading what was sent: %w", err)
	}
	var id uuid.UUID
	var c Check
	_, err = pgx.ForEachRow(rows, []any{
		&id, &c.FirstPossibleSend, &c.LastPossibleSend, &c.Sends, &c.NotFoundAskedAt, &c.DoorClosedAt, &c.Closing, &c.Recipe, &c.Lost, &c.ObjectInDoubt,
	}, func() error {
		t := taken[id]
		t.FirstPossibleSend, t.LastPossibleSend, t.Sends = c.FirstPossibleSend, c.LastPossibleSend, c.Sends
		t.NotFoundAskedAt, t.DoorClosedAt, t.Closing = c.NotFoundAskedAt, c.DoorClosedAt, c.Closing
		t.Recipe, t.Lost, t.ObjectInDoubt = c.Recipe, c.Lost, c.ObjectInDoubt
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading what was sent: %w", err)
	}
	return nil
}
