package outbox

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
)

//go:embed append.sql
var appendSQL string

// Append writes the events, in their order, in the caller's transaction. They
// are published if and only if that transaction commits.
//
// The caller holds the locks of the events' payments, taken before Append: the
// order of events within a payment is the order in which Append wrote them, and
// only the payment's lock makes that the order of commits.
func Append(ctx context.Context, tx pgx.Tx, events []event.Event) error {
	var batch pgx.Batch
	if err := Queue(&batch, events); err != nil {
		return err
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("appending %d events: %w", len(events), err)
	}
	return nil
}

// Queue adds to batch the one statement that Append executes, for a caller that
// sends all its writes in one round trip. It adds nothing when there are no
// events, and refuses an event whose payload exceeds event.PayloadBytesMax, with
// nothing added.
func Queue(batch *pgx.Batch, events []event.Event) error {
	if len(events) == 0 {
		return nil
	}
	// Text, because bytes would go out as bytea where a pooler keeps pgx from
	// asking for the parameters' types.
	headers := make([]string, len(events))
	for i, e := range events {
		if len(e.Payload) > event.PayloadBytesMax {
			return fmt.Errorf("appending %s for %s: its payload has %d bytes, more than %d",
				e.Type, e.Key, len(e.Payload), event.PayloadBytesMax)
		}
		rendered, err := json.Marshal(e.Headers())
		if err != nil {
			return fmt.Errorf("appending %s for %s: rendering its headers: %w", e.Type, e.Key, err)
		}
		headers[i] = string(rendered)
	}
	batch.Queue(appendSQL,
		postgres.Column(events, func(e event.Event) int16 { return Lane(e.Key) }),
		postgres.Column(events, func(e event.Event) uuid.UUID { return e.ID }),
		postgres.Column(events, func(e event.Event) string { return e.Topic }),
		postgres.Column(events, func(e event.Event) uuid.UUID { return e.Key }),
		headers,
		postgres.Column(events, func(e event.Event) []byte { return e.Payload }),
	).Exec(func(tag pgconn.CommandTag) error {
		if int(tag.RowsAffected()) != len(events) {
			return fmt.Errorf("appended %d of %d events", tag.RowsAffected(), len(events))
		}
		return nil
	})
	return nil
}
