package idempotency

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed final_answers.sql
var finalAnswersSQL string

// FinalAnswers returns the answers that are stored for these resources of a route,
// in no order. A resource that is open, or has no key any more, has none.
func FinalAnswers(ctx context.Context, pool *pgxpool.Pool, route string, ids []uuid.UUID) ([]Answer, error) {
	rows, err := pool.Query(ctx, finalAnswersSQL, route, ids)
	if err != nil {
		return nil, fmt.Errorf("reading final answers: %w", err)
	}
	answers, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Answer])
	if err != nil {
		return nil, fmt.Errorf("reading final answers: %w", err)
	}
	return answers, nil
}
