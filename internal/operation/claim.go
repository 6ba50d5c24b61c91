package operation

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Served is one provider account that a worker can send for.
type Served struct {
	Account string
	// Recipe names, with a version, how the request's bytes follow from the
	// operation. A resend must be byte-identical, so it is refused when the
	// first attempt was made by another recipe.
	Recipe string
	// Horizon is how long after the first possible send the provider surely
	// still knows our key, safety margin taken off. Zero: never resend.
	Horizon time.Duration
}

// Claim says who claims, for which accounts, and for how long.
type Claim struct {
	Worker string
	Served []Served
	// Lease is how long the worker may send and tell. Takers wait for it.
	Lease time.Duration
	// Allowance is added to the lease's end for bytes already under way.
	Allowance time.Duration
	// Lines are what ClaimDue takes of the due list. Without any it takes everything
	// that the served accounts have.
	Lines []Line
}

// Attempt is permission to send one request for one operation. It exists only
// once the transaction that made it has committed.
type Attempt struct {
	OperationID, PaymentID uuid.UUID
	Kind                   payment.Kind
	ProviderAccount        string
	Amount                 money.Amount
	ChargeBefore           *time.Time
	Fence                  int64
	// ClaimID tells the attempt from that of another claim at the same fence: a claim that
	// rolls back leaves its fence to the next one.
	ClaimID                 uuid.UUID
	ProviderObjectID        *string // what the request acts on: of a refund or void, its charge's object
	PaymentMethod, Customer *string
	ClaimedAt               time.Time // database clock
	FirstClaimedAt          time.Time // of the operation's first attempt
}

//go:embed claim.sql
var claimSQL string

//go:embed resend.sql
var resendSQL string

//go:embed due.sql
var dueSQL string

//go:embed lock_due.sql
var lockDueSQL string

//go:embed withdraw_orders.sql
var withdrawOrdersSQL string

//go:embed park.sql
var parkSQL string

//go:embed addresses.sql
var addressesSQL string

// Claim moves those of the operations that are created to processing and
// returns an attempt for each. Ids that are elsewhere, unknown, of another
// account or past their last moment are left alone and absent from the result.
func (c Claim) Claim(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]Attempt, error) {
	claim, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("naming a claim: %w", err)
	}
	rows, err := tx.Query(ctx, claimSQL, ids, c.accounts(), c.recipes(), c.Worker, c.Lease, c.Allowance, claim)
	if err != nil {
		return nil, fmt.Errorf("claiming operations: %w", err)
	}
	return collectAttempts(rows, claim)
}

// ReasonHeldBack marks an operation that is due and may not be sent: it was begun at
// another account of the provider, or evidence came in that speaks against a claim.
const ReasonHeldBack = "held-back"

// heldBackPause keeps what may not be sent from standing in front of what may.
const heldBackPause = 10 * time.Second

// ClaimDue claims what is due without a message: operations that are created
// and whose time came, and resend orders. It returns at most limit attempts.
// Orders that do not hold any more are withdrawn in the same transaction, and what
// may not be sent is put off.
func (c Claim) ClaimDue(ctx context.Context, tx pgx.Tx, limit int) ([]Attempt, error) {
	first, again, err := c.lockDue(ctx, tx, limit)
	if err != nil {
		return nil, err
	}
	var attempts []Attempt
	if len(first) > 0 {
		if attempts, err = c.Claim(ctx, tx, first); err != nil {
			return nil, err
		}
		if err := Park(ctx, tx, unclaimed(first, attempts), heldBackPause, ReasonHeldBack); err != nil {
			return nil, err
		}
	}
	if len(again) == 0 {
		return attempts, nil
	}
	resent, err := c.resend(ctx, tx, again)
	if err != nil {
		return nil, err
	}
	return append(attempts, resent...), nil
}

func unclaimed(ids []uuid.UUID, claimed []Attempt) []uuid.UUID {
	if len(ids) == len(claimed) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool {
		return slices.ContainsFunc(claimed, func(a Attempt) bool { return a.OperationID == id })
	})
}

func (c Claim) lockDue(ctx context.Context, tx pgx.Tx, limit int) (first, again []uuid.UUID, err error) {
	lines := c.lines(limit)
	rows, err := tx.Query(ctx, dueSQL, postgres.Column(lines, func(l Line) string { return l.Account }),
		postgres.Column(lines, func(l Line) string { return string(l.Kind) }), postgres.Column(lines, func(l Line) int { return l.Most }), limit)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the due list: %w", err)
	}
	resends := map[uuid.UUID]bool{}
	var due []uuid.UUID
	var id uuid.UUID
	var resend bool
	if _, err := pgx.ForEachRow(rows, []any{&id, &resend}, func() error {
		due, resends[id] = append(due, id), resend
		return nil
	}); err != nil {
		return nil, nil, fmt.Errorf("reading the due list: %w", err)
	}
	if len(due) == 0 {
		return nil, nil, nil
	}
	rows, err = tx.Query(ctx, lockDueSQL, due)
	if err != nil {
		return nil, nil, fmt.Errorf("locking what is due: %w", err)
	}
	locked, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, nil, fmt.Errorf("locking what is due: %w", err)
	}
	for _, id := range locked {
		if resends[id] {
			again = append(again, id)
		} else {
			first = append(first, id)
		}
	}
	return first, again, nil
}

func (c Claim) lines(limit int) []Line {
	if len(c.Lines) > 0 {
		return c.Lines
	}
	var all []Line
	for _, served := range c.Served {
		for _, kind := range payment.Kinds {
			all = append(all, Line{Account: served.Account, Kind: kind, Most: limit})
		}
	}
	return all
}

func (c Claim) resend(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]Attempt, error) {
	claim, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("naming a claim: %w", err)
	}
	horizons := postgres.Column(c.Served, func(s Served) time.Duration { return s.Horizon })
	rows, err := tx.Query(ctx, resendSQL, ids, c.accounts(), c.recipes(), horizons, c.Worker, c.Lease, c.Allowance, claim)
	if err != nil {
		return nil, fmt.Errorf("claiming resends: %w", err)
	}
	attempts, err := collectAttempts(rows, claim)
	if err != nil || len(attempts) == len(ids) {
		return attempts, err
	}
	if _, err := tx.Exec(ctx, withdrawOrdersSQL, ids); err != nil {
		return nil, fmt.Errorf("withdrawing resend orders: %w", err)
	}
	return attempts, nil
}

// Park makes created operations due again after a while, with the reason that
// the payment shows meanwhile. Operations in any other state are left alone.
func Park(ctx context.Context, tx pgx.Tx, ids []uuid.UUID, after time.Duration, reason string) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, parkSQL, ids, after, reason); err != nil {
		return fmt.Errorf("parking operations: %w", err)
	}
	return nil
}

// Address is what never changes about an operation and says where it belongs.
type Address struct {
	OperationID, PaymentID uuid.UUID
	Kind                   payment.Kind
	ProviderAccount        string
}

// Addresses looks operations up; ids that this database does not have are absent.
func Addresses(ctx context.Context, q Querier, ids []uuid.UUID) (map[uuid.UUID]Address, error) {
	rows, err := q.Query(ctx, addressesSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("looking up operations: %w", err)
	}
	addresses := make(map[uuid.UUID]Address, len(ids))
	var a Address
	_, err = pgx.ForEachRow(rows, []any{&a.OperationID, &a.PaymentID, &a.Kind, &a.ProviderAccount}, func() error {
		addresses[a.OperationID] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking up operations: %w", err)
	}
	return addresses, nil
}

func (c Claim) accounts() []string {
	return postgres.Column(c.Served, func(s Served) string { return s.Account })
}

func (c Claim) recipes() []string {
	return postgres.Column(c.Served, func(s Served) string { return s.Recipe })
}

func collectAttempts(rows pgx.Rows, claim uuid.UUID) ([]Attempt, error) {
	attempts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Attempt, error) {
		a := Attempt{ClaimID: claim}
		var minor int64
		var currency money.Currency
		err := row.Scan(&a.OperationID, &a.PaymentID, &a.Kind, &a.ProviderAccount, &minor, &currency, &a.ChargeBefore, &a.Fence,
			&a.ProviderObjectID, &a.PaymentMethod, &a.Customer, &a.ClaimedAt, &a.FirstClaimedAt)
		if err != nil {
			return Attempt{}, err
		}
		a.Amount, err = money.New(minor, currency)
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	return attempts, nil
}
