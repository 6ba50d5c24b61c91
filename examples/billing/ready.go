package billing

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5"
)

//go:embed ready.sql
var readySQL string

// Ready returns why billing could not work now: its database does not answer, or
// Run has not made its tables yet. It opens a connection of its own, so that a busy
// consumer is not taken for a sick one. Kafka is not asked: while it is silent there
// is nothing to bill, and nothing that a restart would mend.
func Ready(ctx context.Context, c Config) error {
	connection, err := pgx.Connect(ctx, c.DatabaseURL)
	if err != nil {
		return fmt.Errorf("connecting to billing's database: %w", err)
	}
	defer connection.Close(context.WithoutCancel(ctx))
	if _, err := connection.Exec(ctx, readySQL); err != nil {
		return fmt.Errorf("looking at billing's table: %w", err)
	}
	return nil
}
