package operation

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed anothers.sql
var anothersSQL string

// Anothers returns, by refund, those of the movements that it cannot have made: the one
// that it acts on, and those that other refunds at its account succeeded with. An index
// keeps two refunds from succeeding with one movement; whoever asks first can say why.
func Anothers(ctx context.Context, q Querier, refunds []uuid.UUID, movements []string) (map[uuid.UUID]map[string]bool, error) {
	if len(refunds) == 0 || len(movements) == 0 {
		return nil, nil
	}
	rows, err := q.Query(ctx, anothersSQL, refunds, movements)
	if err != nil {
		return nil, fmt.Errorf("reading what other refunds moved: %w", err)
	}
	anothers := map[uuid.UUID]map[string]bool{}
	var id uuid.UUID
	var movement string
	if _, err := pgx.ForEachRow(rows, []any{&id, &movement}, func() error {
		if anothers[id] == nil {
			anothers[id] = map[string]bool{}
		}
		anothers[id][movement] = true
		return nil
	}); err != nil {
		return nil, fmt.Errorf("reading what other refunds moved: %w", err)
	}
	return anothers, nil
}
