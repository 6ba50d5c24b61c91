// Package evidence owns what was learned about operations, and from whom.
//
//	answer, inquiry, closed door, webhook, list, file line, person ──> evidence ──> outcome
//
// Its promise: a row is never changed and never removed. A payment becomes
// captured or failed only on rows of this table (P3, U5), which the database
// checks without asking the code that wrote them.
package evidence

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

// Source says who told us.
type Source string

// The sources. Answer is the answer to one attempt; Closure is the provider's
// word that nothing is held under our reference and nothing more will be taken; List
// is an entry of the provider's list, which says what is there and proves no absence.
const (
	Answer     Source = "answer"
	Inquiry    Source = "inquiry"
	Closure    Source = "closure"
	Webhook    Source = "webhook"
	Settlement Source = "settlement"
	Operator   Source = "operator"
	List       Source = "list"
)

// Evidence is one thing that was learned about one operation.
type Evidence struct {
	ID               uuid.UUID
	OperationID      uuid.UUID
	Fence            int64 // the attempt that was answered; 0 unless Source is Answer
	Source           Source
	Verdict          payment.Verdict
	Amount           money.Amount // what the provider said; zero when it said none
	ProviderObjectID string
	Status           int // HTTP status, 0 when there was none
	Reason           string
	AskedAt          time.Time // database clock, before the question was sent
	// CoversUntil is set on an authoritative no that was not an attempt's
	// answer: attempts whose last possible send lies at or before it are covered.
	CoversUntil time.Time
	// CoversEarlier is set on an attempt's decline where the provider serialises
	// a key: earlier attempts with the same key are covered too.
	CoversEarlier bool
	Hash          [32]byte // SHA-256 of the raw answer
}

//go:embed insert.sql
var insertSQL string

//go:embed read.sql
var readSQL string

// Queue adds the statement that stores the evidence to a batch. It must run
// before the moves that rest on it.
func Queue(batch *pgx.Batch, learned []Evidence) {
	if len(learned) == 0 {
		return
	}
	batch.Queue(insertSQL,
		postgres.Column(learned, func(e Evidence) uuid.UUID { return e.ID }),
		postgres.Column(learned, func(e Evidence) uuid.UUID { return e.OperationID }),
		postgres.Column(learned, func(e Evidence) *int64 { return postgres.Given(e.Fence) }),
		postgres.Column(learned, func(e Evidence) string { return string(e.Source) }),
		postgres.Column(learned, func(e Evidence) string { return e.Verdict.String() }),
		postgres.Column(learned, func(e Evidence) *int64 { return postgres.Minor(e.Amount) }),
		postgres.Column(learned, func(e Evidence) *string { return postgres.Given(string(e.Amount.Currency())) }),
		postgres.Column(learned, func(e Evidence) *string { return postgres.Given(e.ProviderObjectID) }),
		postgres.Column(learned, func(e Evidence) *int { return postgres.Given(e.Status) }),
		postgres.Column(learned, func(e Evidence) *string { return postgres.Given(e.Reason) }),
		postgres.Column(learned, func(e Evidence) time.Time { return e.AskedAt }),
		postgres.Column(learned, func(e Evidence) *time.Time { return postgres.Given(e.CoversUntil) }),
		postgres.Column(learned, func(e Evidence) bool { return e.CoversEarlier }),
		postgres.Column(learned, func(e Evidence) []byte { return e.Hash[:] }))
}

// ForOperations returns all that is known about the operations, oldest first.
func ForOperations(ctx context.Context, tx pgx.Tx, operations []uuid.UUID) (map[uuid.UUID][]Evidence, error) {
	rows, err := tx.Query(ctx, readSQL, operations)
	if err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	byOperation := map[uuid.UUID][]Evidence{}
	collected, err := pgx.CollectRows(rows, scan)
	if err != nil {
		return nil, fmt.Errorf("reading evidence: %w", err)
	}
	for _, e := range collected {
		byOperation[e.OperationID] = append(byOperation[e.OperationID], e)
	}
	return byOperation, nil
}

func scan(row pgx.CollectableRow) (Evidence, error) {
	var e Evidence
	var verdict string
	var minor *int64
	var currency *money.Currency
	var covers *time.Time
	err := row.Scan(&e.ID, &e.OperationID, &e.Fence, &e.Source, &verdict, &minor, &currency, &e.ProviderObjectID,
		&e.Reason, &e.AskedAt, &covers, &e.CoversEarlier)
	if err != nil {
		return Evidence{}, err
	}
	if covers != nil {
		e.CoversUntil = *covers
	}
	if e.Verdict, err = payment.ParseVerdict(verdict); err != nil {
		return Evidence{}, err
	}
	e.Amount, err = postgres.Amount(minor, currency)
	return e, err
}
