package casework

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// Due is a case whose next step one reconciler takes now.
type Due struct {
	CaseID, PaymentID, OperationID uuid.UUID
	Plan                           Plan
	Version                        int64
	Of                             payment.Kind // of the operation
}

//go:embed take_due.sql
var takeDueSQL string

// TakeDue takes at most limit cases of the accounts whose next step is due, and puts
// it off by lease: a reconciler that dies in between leaves the case to the next one.
func TakeDue(ctx context.Context, q operation.Querier, accounts []string, limit int, lease time.Duration) ([]Due, error) {
	rows, err := q.Query(ctx, takeDueSQL, accounts, limit, lease)
	if err != nil {
		return nil, fmt.Errorf("taking cases: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Due])
	if err != nil {
		return nil, fmt.Errorf("taking cases: %w", err)
	}
	return due, nil
}
