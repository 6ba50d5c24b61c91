package idempotency

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
)

// Answer is what every repeat of a request gets once its resource is final.
type Answer struct {
	ResourceID uuid.UUID
	Status     int    // HTTP status
	Body       []byte // exactly these bytes
}

//go:embed store_answers.sql
var storeAnswersSQL string

//go:embed lock_keys.sql
var lockKeysSQL string

// StoreAnswers keeps the final answers, in the transaction that makes the
// resources final. A key that has an answer keeps the one it has, and a resource
// without a key needs none. The keys must have been locked by LockByResource.
func StoreAnswers(ctx context.Context, tx pgx.Tx, answers []Answer) error {
	var batch pgx.Batch
	QueueAnswers(&batch, answers)
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("storing answers: %w", err)
	}
	return nil
}

// QueueAnswers is StoreAnswers as a part of a batch that the caller sends.
func QueueAnswers(batch *pgx.Batch, answers []Answer) {
	batch.Queue(storeAnswersSQL,
		postgres.Column(answers, func(a Answer) uuid.UUID { return a.ResourceID }),
		postgres.Column(answers, func(a Answer) int16 { return int16(a.Status) }), //nolint:gosec // an HTTP status has three digits
		postgres.Column(answers, func(a Answer) []byte { return a.Body }),
	)
}

// LockByResource locks the keys of these resources. Keys come first in the lock
// order, so it is called before any other row is locked.
func LockByResource(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) error {
	if _, err := tx.Exec(ctx, lockKeysSQL, ids); err != nil {
		return fmt.Errorf("locking idempotency keys: %w", err)
	}
	return nil
}
