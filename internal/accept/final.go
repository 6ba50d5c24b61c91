package accept

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/idempotency"
)

// FinalAnswers returns, by payment, the answers that repeats get from now on. A
// payment that is still open is not among them.
func FinalAnswers(ctx context.Context, pool *pgxpool.Pool, payments []uuid.UUID) (map[uuid.UUID]Answer, error) {
	stored, err := idempotency.FinalAnswers(ctx, pool, Route, payments)
	if err != nil {
		return nil, fmt.Errorf("looking for final payments: %w", err)
	}
	answers := make(map[uuid.UUID]Answer, len(stored))
	for _, a := range stored {
		answers[a.ResourceID] = Answer{Status: a.Status, Body: a.Body}
	}
	return answers, nil
}
