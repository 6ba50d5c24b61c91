package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// registerTypes tells pgx what it would otherwise ask the server for. Behind a
// transaction pooler there is no prepared statement to ask about, and an array of
// UUIDs could not be sent at all.
func registerTypes(_ context.Context, conn *pgx.Conn) error {
	conn.TypeMap().RegisterDefaultPgType(uuid.UUID{}, "uuid")
	conn.TypeMap().RegisterDefaultPgType([]uuid.UUID{}, "_uuid")
	conn.TypeMap().RegisterDefaultPgType([]*uuid.UUID{}, "_uuid")
	return nil
}
