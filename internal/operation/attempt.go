package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
)

// PastAttempt is what is stored of one attempt, in the order of attempts.sql.
type PastAttempt struct {
	OperationID      uuid.UUID
	Fence            int64
	ClaimedAt        time.Time
	LeaseUntil       time.Time
	LastPossibleSend time.Time
	NotSent          bool      // proven by the sender's own trace
	Finished         bool      // it was told how it went, and tells nothing more about itself
	Lost             bool      // it stands for whatever was lost (see Epoch), and tells nothing
	ClaimID          uuid.UUID // of the claim that made it; Nil of one that was made without
}

// Finished is what an attempt learned about itself.
type Finished struct {
	OperationID uuid.UUID
	Fence       int64
	NotSent     bool
	ClaimID     uuid.UUID // of who learned it
}

//go:embed attempts.sql
var attemptsSQL string

//go:embed finish_attempts.sql
var finishAttemptsSQL string

// Attempts returns all attempts of the operations, in the order of their fences.
// An operation has few: each resend is ordered by the reconciler.
func Attempts(ctx context.Context, q Querier, operations []uuid.UUID) (map[uuid.UUID][]PastAttempt, error) {
	rows, err := q.Query(ctx, attemptsSQL, operations)
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	past, err := pgx.CollectRows(rows, pgx.RowToStructByPos[PastAttempt])
	if err != nil {
		return nil, fmt.Errorf("reading attempts: %w", err)
	}
	byOperation := map[uuid.UUID][]PastAttempt{}
	for _, a := range past {
		byOperation[a.OperationID] = append(byOperation[a.OperationID], a)
	}
	return byOperation, nil
}

//go:embed recipes.sql
var recipesSQL string

// Recipes returns the different recipes of an operation's attempts: by which bytes,
// and at which account of the provider, it was begun. There are few.
func Recipes(ctx context.Context, q Querier, operation uuid.UUID) ([]string, error) {
	rows, err := q.Query(ctx, recipesSQL, operation)
	if err != nil {
		return nil, fmt.Errorf("reading recipes: %w", err)
	}
	recipes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("reading recipes: %w", err)
	}
	return recipes, nil
}

// QueueFinished adds the statement that stores what attempts learned.
func QueueFinished(batch *pgx.Batch, finished []Finished) {
	if len(finished) == 0 {
		return
	}
	batch.Queue(finishAttemptsSQL,
		postgres.Column(finished, func(f Finished) uuid.UUID { return f.OperationID }),
		postgres.Column(finished, func(f Finished) int64 { return f.Fence }),
		postgres.Column(finished, func(f Finished) bool { return f.NotSent }),
		postgres.Column(finished, func(f Finished) *uuid.UUID { return postgres.Given(f.ClaimID) }))
}
