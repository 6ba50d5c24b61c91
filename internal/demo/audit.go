package demo

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

//go:embed charges.sql
var chargesSQL string

//go:embed refunds.sql
var refundsSQL string

//go:embed guesses.sql
var guessesSQL string

//go:embed balances.sql
var balancesSQL string

//go:embed told.sql
var toldSQL string

//go:embed leftovers.sql
var leftoversSQL string

//go:embed billed.sql
var billedSQL string

// charge is a payment as payonce's database holds it.
type charge struct {
	Payment, Operation, Merchant uuid.UUID
	State                        payment.State
	Minor                        int64
	Currency                     money.Currency
	Refunded                     int64       // in minor units: what has not failed
	GivenBack                    []uuid.UUID // operations of its cases
}

func (c charge) captured() bool { return c.State == payment.StateCaptured }

// refund is one as payonce's database holds it. Without a reference it is no client's
// but gives back what a case is about.
type refund struct {
	ID, Payment uuid.UUID // ID is its operation's
	Reference   string
	State       payment.OperationState
	Minor       int64
	Currency    money.Currency
	Owed        int64 // what its entries take from what the merchant is owed
}

func (r refund) succeeded() bool { return r.State == payment.OperationSucceeded }

// counts reports whether the refund's money is not free to be refunded again.
func (r refund) counts() bool {
	return r.State != payment.OperationFailed && r.State != payment.OperationCanceled
}

// balance is the sum of one account's entries.
type balance struct {
	Account  string
	Currency money.Currency
	Minor    int64
}

// told is an event that was committed to be published.
type told struct {
	Payment, Event uuid.UUID
	Outcome        bool // on the events topic
}

// leftovers are what else the database knows.
type leftovers struct {
	Unpublished int // rows in the outbox, parked ones included
	Takeovers   int
}

// bill is one row of billing.
type bill struct {
	Payment  uuid.UUID
	Minor    int64
	Currency money.Currency
}

// findings are what everyone says, before anybody is believed.
type findings struct {
	accepted map[uuid.UUID]order // what clients were answered
	answered map[uuid.UUID]call  // and of refunds
	canceled map[uuid.UUID]bool  // and of cancels that succeeded
	charges  map[uuid.UUID]charge
	refunds  map[uuid.UUID]refund
	guesses  int
	balances []balance
	told     []told
	leftovers
	bills     []bill
	delivered map[uuid.UUID]int         // deliveries of each event
	order     map[uuid.UUID][]uuid.UUID // of first deliveries, by payment
	invalid   int                       // events that break their published schema
	oracles   []pspsim.Oracle
}

// audit compares what the providers, the topics and billing say with what payonce
// says.
func (s *stage) audit(ctx context.Context, l *load) (Report, error) {
	f := findings{accepted: l.accepted, answered: l.refunds, canceled: l.canceled}
	if err := s.readCharges(ctx, &f); err != nil {
		return Report{}, err
	}
	if err := s.replayFinals(ctx, l, &f); err != nil {
		return Report{}, err
	}
	if err := s.readBooks(ctx, &f); err != nil {
		return Report{}, err
	}
	if err := s.readBills(ctx, &f); err != nil {
		return Report{}, err
	}
	s.witness.await(ctx, len(f.told))
	f.delivered, f.order = s.witness.testify()
	f.invalid = s.witness.invalids()
	for _, url := range s.urls {
		oracle, err := askOracle(ctx, url)
		if err != nil {
			return Report{}, err
		}
		f.oracles = append(f.oracles, oracle)
	}
	r := f.judge()
	r.Requests = int(l.requests.Load())
	r.unequalAnswers += int(l.unequal.Load())
	r.tooLate, r.refusedRefunds = int(l.tooLate.Load()), int(l.refused.Load())
	return r, nil
}

func (s *stage) readCharges(ctx context.Context, f *findings) error {
	charges, err := list[charge](ctx, s.pool, chargesSQL)
	if err != nil {
		return err
	}
	f.charges = make(map[uuid.UUID]charge, len(charges))
	for _, c := range charges {
		f.charges[c.Payment] = c
	}
	refunds, err := list[refund](ctx, s.pool, refundsSQL)
	if err != nil {
		return err
	}
	f.refunds = make(map[uuid.UUID]refund, len(refunds))
	for _, r := range refunds {
		f.refunds[r.ID] = r
	}
	return nil
}

func (s *stage) readBooks(ctx context.Context, f *findings) error {
	var err error
	if f.balances, err = list[balance](ctx, s.pool, balancesSQL); err != nil {
		return err
	}
	if f.told, err = list[told](ctx, s.pool, toldSQL, s.topics.Events); err != nil {
		return err
	}
	if err := s.pool.QueryRow(ctx, guessesSQL).Scan(&f.guesses); err != nil {
		return fmt.Errorf("looking for guesses: %w", err)
	}
	if err := s.pool.QueryRow(ctx, leftoversSQL).Scan(&f.Unpublished, &f.Takeovers); err != nil {
		return fmt.Errorf("looking for what is left over: %w", err)
	}
	return nil
}

// readBills waits until billing has followed, or long enough: what is missing then
// is missing.
func (s *stage) readBills(ctx context.Context, f *findings) error {
	captured := 0
	for _, c := range f.charges {
		if c.captured() {
			captured++
		}
	}
	patience, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	ticker := time.NewTicker(lookInterval)
	defer ticker.Stop()
	for {
		var err error
		if f.bills, err = list[bill](ctx, s.billed, billedSQL); err != nil || len(f.bills) >= captured {
			return err
		}
		select {
		case <-ticker.C:
		case <-patience.Done():
			return ctx.Err()
		}
	}
}

// list reads rows into structs whose fields are in the order of the columns.
func list[T any](ctx context.Context, pool *pgxpool.Pool, sql string, arguments ...any) ([]T, error) {
	rows, err := pool.Query(ctx, sql, arguments...)
	if err != nil {
		return nil, fmt.Errorf("auditing: %w", err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[T])
	if err != nil {
		return nil, fmt.Errorf("auditing: %w", err)
	}
	return found, nil
}
