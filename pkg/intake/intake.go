package intake

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

var (
	//go:embed enter.sql
	enterSQL string
	//go:embed leave.sql
	leaveSQL string
)

// Config is what the services of the same database are configured with.
type Config struct {
	Cell string // PAYONCE_CELL; empty is its default, main
	// TopicPrefix is PAYONCE_TOPIC_PREFIX; empty is its default, payonce. With another one
	// than the relay's no event of the payment is ever published; see the package's
	// documentation.
	TopicPrefix string
	// Accounts are the provider accounts and their connectors, as in
	// PAYONCE_PROVIDER: an amount that a provider cannot represent is refused. An
	// account that is not listed is not judged; its payments can fail later.
	Accounts map[string]string
	// KeyWindow is PAYONCE_KEY_WINDOW, how long keys are stored at least, from 24 to 72 h;
	// zero is its default, 72 h. It must be what the services have, see the package's
	// documentation.
	KeyWindow time.Duration
}

// Intake takes payments on. It holds no connection and may be used by several
// goroutines.
type Intake struct{ rules accept.Rules }

// New returns an Intake. It returns an error for a connector that does not exist and
// for a KeyWindow out of its bounds.
func New(c Config) (*Intake, error) {
	if c.KeyWindow != 0 && (c.KeyWindow < idempotency.WindowMin || c.KeyWindow > idempotency.WindowMax) {
		return nil, fmt.Errorf("making an intake: KeyWindow is %s: set it to PAYONCE_KEY_WINDOW, from %s to %s",
			c.KeyWindow, idempotency.WindowMin, idempotency.WindowMax)
	}
	judge, err := connectors.Chargeable(c.Accounts)
	if err != nil {
		return nil, fmt.Errorf("making an intake: %w", err)
	}
	return &Intake{accept.Rules{
		Topic: event.TopicsWithPrefix(cmp.Or(c.TopicPrefix, "payonce")).Requests, Source: event.Source(cmp.Or(c.Cell, "main")),
		Chargeable: judge, KeyWindow: c.KeyWindow,
	}}, nil
}

// Command asks for a payment. Texts that are empty are absent, as null is over HTTP.
type Command struct {
	MerchantID uuid.UUID
	// IdempotencyKey is new for each payment and the same for each repeat, 1 to 255
	// visible ASCII characters, the first of them no quote. It is the one of HTTP's
	// Idempotency-Key, unquoted.
	IdempotencyKey string

	InvoiceID         string
	PaymentType       string
	Amount            money.Amount
	PaymentMethod     string          // the provider's token; never card data
	Customer          string          // the provider's name for the customer
	ExternalReference string          // unique among the merchant's live payments
	Metadata          json.RawMessage // a JSON object, for your own notes
	ChargeBefore      time.Time       // the last moment at which it may be sent; zero: none

	TraceParent   string // W3C trace context
	CorrelationID string // carried on by all events of the payment
	CausationID   string // what led to this command
}

// Result is the payment that the key stands for once the transaction commits.
type Result struct {
	Payment payment.View
	// Replayed says that the key stood for this very request before: nothing was
	// written, and the payment is as it stands now, or as it ended.
	Replayed bool
	// Body is the payment in JSON. For a payment that is final these are the very
	// bytes that every repeat gets, at every door.
	Body []byte
}

// undoWait bounds the way back to where a transaction stood before Submit, which is
// gone whatever became of the caller's context.
const undoWait = 5 * time.Second

// Submit takes the payment on in tx, which the caller commits; see the package's
// documentation for what tx must be and what is locked.
//
// After an error nothing of the payment is in tx, which stands where it stood before:
// Submit works behind a savepoint and goes back to it. Where that is not possible, tx
// cannot be committed any more. *InvalidError, *MismatchedError, *ConflictError and
// ErrExpired are answers to the command. ErrBusy says that the whole transaction may be
// tried again at once; ErrUnknownMerchant, ErrIsolation and ErrDurability that it may
// not; and errors of the database and of ctx are passed on.
func (i *Intake) Submit(ctx context.Context, tx pgx.Tx, c Command) (Result, error) {
	step, err := tx.Begin(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("setting a savepoint for a payment: %w", err)
	}
	result, err := i.step(ctx, step, c)
	if err == nil {
		err = step.Commit(ctx)
	}
	if err != nil {
		undo(ctx, step)
		return Result{}, busy(err)
	}
	return result, nil
}

// undo goes back to the savepoint. The story without: the caller's context ends between
// two statements, which aborts nothing, and the caller commits a key whose payment does
// not exist.
func undo(ctx context.Context, step pgx.Tx) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoWait)
	defer cancel()
	if err := step.Rollback(ctx); err != nil {
		_ = step.Conn().Close(ctx) // nobody commits on a connection that is closed
	}
}

func (i *Intake) step(ctx context.Context, tx pgx.Tx, c Command) (Result, error) {
	borrowed, err := borrow(ctx, tx)
	if err != nil {
		return Result{}, err
	}
	result, err := i.submit(ctx, tx, c)
	if err != nil {
		return Result{}, err
	}
	answered, err := answer(result)
	if err != nil {
		return Result{}, err // the way back puts the settings back, too
	}
	return answered, borrowed.giveBack(ctx, tx)
}

func (i *Intake) submit(ctx context.Context, tx pgx.Tx, c Command) (accept.Result, error) {
	from, err := merchant.Find(ctx, tx, c.MerchantID)
	if errors.Is(err, merchant.ErrUnknownMerchant) {
		return accept.Result{}, ErrUnknownMerchant
	}
	if err != nil {
		return accept.Result{}, err
	}
	if err := idempotency.CheckPlainKey(c.IdempotencyKey); errors.Is(err, idempotency.ErrKeyQuoted) {
		return refusedKey(err), nil
	}
	request, err := c.command(from).Validate() //nolint:contextcheck // a trace context is read from a field, nothing is waited for
	if err != nil {
		var broken *accept.InvalidError
		if !errors.As(err, &broken) {
			return refusedKey(err), nil
		}
		return accept.Result{Outcome: accept.OutcomeRefused, Refusal: broken}, nil
	}
	results, err := i.rules.Accept(ctx, tx, []accept.Request{request})
	if err != nil {
		return accept.Result{}, err
	}
	return results[0], nil
}

func (c Command) command(from merchant.Merchant) accept.Command {
	command := accept.Command{
		IdempotencyKey: c.IdempotencyKey, KeyField: FieldIdempotencyKey,
		InvoiceID: c.InvoiceID, PaymentType: c.PaymentType,
		Amount: decimal(c.Amount), Currency: string(c.Amount.Currency()),
		PaymentMethod: given(c.PaymentMethod), Customer: given(c.Customer), ExternalReference: given(c.ExternalReference),
		Metadata: c.Metadata, ChargeBefore: moment(c.ChargeBefore),
		TraceParent: c.TraceParent, CorrelationID: c.CorrelationID, CausationID: c.CausationID,
	}
	command.From(from)
	command.DerivesKey = false // that is for clients over HTTP that cannot be changed
	return command
}

// borrowed are the caller's settings while payonce's hold.
type borrowed struct{ lockTimeout, searchPath, seqScan, hashJoin, mergeJoin string }

func borrow(ctx context.Context, tx pgx.Tx) (borrowed, error) {
	var b borrowed
	var isolation, durability, skip string
	wait := strconv.FormatInt(accept.KeyWaitMax.Milliseconds(), 10)
	err := tx.QueryRow(ctx, enterSQL, wait).
		Scan(&b.lockTimeout, &b.searchPath, &b.seqScan, &b.hashJoin, &b.mergeJoin, &isolation, &durability, &skip, &skip, &skip, &skip, &skip)
	if err != nil {
		return borrowed{}, fmt.Errorf("preparing a transaction for a payment: %w", err)
	}
	if isolation != "read committed" {
		return borrowed{}, fmt.Errorf("%w, not %s", ErrIsolation, isolation)
	}
	if durability == "off" {
		return borrowed{}, ErrDurability
	}
	return b, nil
}

func (b borrowed) giveBack(ctx context.Context, tx pgx.Tx) error {
	if _, err := tx.Exec(ctx, leaveSQL, b.lockTimeout, b.searchPath, b.seqScan, b.hashJoin, b.mergeJoin); err != nil {
		return fmt.Errorf("putting a transaction's settings back: %w", err)
	}
	return nil
}

// decimal is empty for an amount that was not set: it is not zero of anything.
func decimal(a money.Amount) string {
	if a.IsZero() {
		return ""
	}
	return a.Decimal()
}

func given(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func moment(at time.Time) *string {
	if at.IsZero() {
		return nil
	}
	return new(at.Format(time.RFC3339Nano))
}

func refusedKey(err error) accept.Result {
	return accept.Result{Outcome: accept.OutcomeRefused, Refusal: &accept.InvalidError{
		Fields: []accept.FieldError{{Field: FieldIdempotencyKey, Problem: keyProblem(err)}},
	}}
}
