package drift

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Kind says what a finding is.
type Kind string

// The kinds. They are stored, so they do not change.
const (
	Unasked      Kind = "unasked"       // a movement of which we have no operation: money that nobody here asked for
	OtherAccount Kind = "other_account" // a movement under the reference of an operation that was sent to another account
	OtherKind    Kind = "other_kind"    // a movement of another kind than the operation of its reference
	Unreadable   Kind = "unreadable"    // captured for an operation of ours, and its amount cannot be read as money
	NotListed    Kind = "not_listed"    // succeeded here, not listed there, and no inquiry settles it
	Unsettled    Kind = "unsettled"     // final here, and under way or unclear there; each scan asks again
	Unapplied    Kind = "unapplied"     // evidence that could not be applied; the log has the error
)

// The reasons that the machine gives when it explains a finding.
const (
	machine        = "machine"
	reasonListed   = "listed"   // a later list names it
	reasonAnswered = "answered" // an inquiry settled it, or its case has
)

// Finding is a difference that no rule may settle.
type Finding struct {
	ID              uuid.UUID
	ProviderAccount string
	Kind            Kind
	ObjectID        string // the provider's name; empty where it is about what an operation of ours succeeded with
	Reference       string
	OperationID     uuid.UUID // Nil where it is about none of ours
	Movement        payment.Kind
	Verdict         payment.Verdict // the list's
	Amount          money.Amount    // the provider's, or of an operation that is left out ours
	CreatedAt       time.Time       // the provider's clock; zero for an operation that is left out
	SeenAt          time.Time       // when it was found, or found anew with another verdict or amount
	Explained       bool
	ExplainedBy     string
	Reason          string
}

//go:embed keep.sql
var keepSQL string

//go:embed explain_all.sql
var explainAllSQL string

//go:embed explain.sql
var explainSQL string

//go:embed findings.sql
var findingsSQL string

// keep stores findings and returns how many of them are news. One that is known stays
// as it is, explained or not, unless the provider tells something else about it now.
func keep(ctx context.Context, tx pgx.Tx, account string, finds []Finding) (int64, error) {
	if len(finds) == 0 {
		return 0, nil
	}
	ids := make([]uuid.UUID, len(finds))
	for i := range ids {
		var err error
		if ids[i], err = uuid.NewV7(); err != nil {
			return 0, fmt.Errorf("naming a finding: %w", err)
		}
	}
	tag, err := tx.Exec(ctx, keepSQL, account, ids,
		postgres.Column(finds, func(f Finding) string { return string(f.Kind) }),
		postgres.Column(finds, func(f Finding) string { return f.ObjectID }),
		postgres.Column(finds, func(f Finding) string { return f.Reference }),
		postgres.Column(finds, func(f Finding) *uuid.UUID { return postgres.Given(f.OperationID) }),
		postgres.Column(finds, func(f Finding) string { return string(f.Movement) }),
		postgres.Column(finds, func(f Finding) string { return f.Verdict.String() }),
		postgres.Column(finds, func(f Finding) *int64 { return postgres.Minor(f.Amount) }),
		postgres.Column(finds, func(f Finding) *string { return postgres.Given(string(f.Amount.Currency())) }),
		postgres.Column(finds, func(f Finding) *time.Time { return postgres.Given(f.CreatedAt) }))
	if err != nil {
		return 0, fmt.Errorf("keeping findings: %w", err)
	}
	return tag.RowsAffected(), nil
}

// explanation is why findings of one kind are closed by the machine.
type explanation struct {
	account string
	kind    Kind
	object  string
	reason  string
}

// explainAll closes open findings about the object of the operations.
func explainAll(ctx context.Context, tx pgx.Tx, e explanation, operations []uuid.UUID) error {
	if len(operations) == 0 {
		return nil
	}
	if _, err := tx.Exec(ctx, explainAllSQL, e.account, string(e.kind), operations, machine, e.reason, e.object); err != nil {
		return fmt.Errorf("explaining findings: %w", err)
	}
	return nil
}

// Explain closes an open finding by a person's word: who (up to 200 characters) and
// why (up to 2000). It moves no money and changes no payment. Error: ErrNoFinding.
func Explain(ctx context.Context, q operation.Querier, id uuid.UUID, who, reason string) error {
	if strings.TrimSpace(who) == "" || strings.TrimSpace(reason) == "" {
		return fmt.Errorf("explaining finding %s: a name and a reason are needed", id)
	}
	tag, err := q.Exec(ctx, explainSQL, id, "person:"+who, reason)
	if err != nil {
		return fmt.Errorf("explaining finding %s: %w", id, err)
	}
	if tag.RowsAffected() == 0 {
		return fmt.Errorf("finding %s: %w", id, ErrNoFinding)
	}
	return nil
}

// PageMax bounds one page of Findings.
const PageMax = 500

// Filter chooses findings. The zero value is all that are open.
type Filter struct {
	ProviderAccount string
	Explained       bool      // those too
	After           uuid.UUID // the last one of the page before
}

// Findings returns at most PageMax findings, the oldest first.
func Findings(ctx context.Context, q operation.Querier, f Filter) ([]Finding, error) {
	rows, err := q.Query(ctx, findingsSQL, f.ProviderAccount, f.Explained, f.After, PageMax)
	if err != nil {
		return nil, fmt.Errorf("listing findings: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Finding, error) {
		var f Finding
		var verdict string
		var minor *int64
		var currency *money.Currency
		var created *time.Time
		err := row.Scan(&f.ID, &f.ProviderAccount, &f.Kind, &f.ObjectID, &f.Reference, &f.OperationID, &f.Movement, &verdict,
			&minor, &currency, &created, &f.SeenAt, &f.Explained, &f.ExplainedBy, &f.Reason)
		if err != nil {
			return Finding{}, err
		}
		if created != nil {
			f.CreatedAt = *created
		}
		if f.Verdict, err = payment.ParseVerdict(verdict); err != nil {
			return Finding{}, err
		}
		f.Amount, err = postgres.Amount(minor, currency)
		return f, err
	})
	if err != nil {
		return nil, fmt.Errorf("listing findings: %w", err)
	}
	return found, nil
}
