package postgres

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Ready returns why a service could not work on the database now: it does not
// answer, or it fails one of the checks that Open made.
func Ready(ctx context.Context, pool *pgxpool.Pool) error { return check(ctx, pool, nil) }
