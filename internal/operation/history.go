package operation

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// History is one thing that happened to a payment.
type History struct {
	PaymentID, OperationID uuid.UUID
	From, To               payment.OperationState // From is empty for the accept
	Fence                  int64
	Reason                 string
	Event                  *event.Event // what told it; nil when nobody was told
}

//go:embed record.sql
var recordSQL string

// QueueHistory adds the statement that appends the entries, in their order, to
// a batch. An entry keeps its event as it is published, id and headers included,
// so that the event can be published again byte for byte.
func QueueHistory(batch *pgx.Batch, entries []History) error {
	if len(entries) == 0 {
		return nil
	}
	headers, err := encodeHeaders(entries)
	if err != nil {
		return err
	}
	batch.Queue(recordSQL,
		postgres.Column(entries, func(h History) uuid.UUID { return h.PaymentID }),
		postgres.Column(entries, func(h History) uuid.UUID { return h.OperationID }),
		postgres.Column(entries, func(h History) string { return string(h.From) }),
		postgres.Column(entries, func(h History) string { return string(h.To) }),
		postgres.Column(entries, func(h History) int64 { return h.Fence }),
		postgres.Column(entries, func(h History) string { return h.Reason }),
		postgres.Column(entries, ofEvent(func(e event.Event) *uuid.UUID { return &e.ID })),
		postgres.Column(entries, ofEvent(func(e event.Event) *string { return new(string(e.Type)) })),
		postgres.Column(entries, ofEvent(func(e event.Event) *string { return &e.Topic })),
		headers,
		postgres.Column(entries, func(h History) []byte {
			if h.Event == nil {
				return nil
			}
			return h.Event.Payload
		}),
	).Exec(expectTouched("recording history", len(entries)))
	return nil
}

// Record appends the entries in the caller's transaction.
func Record(ctx context.Context, tx pgx.Tx, entries []History) error {
	var batch pgx.Batch
	if err := QueueHistory(&batch, entries); err != nil {
		return err
	}
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return fmt.Errorf("recording history: %w", err)
	}
	return nil
}

// encodeHeaders renders text, because bytes would go out as bytea where a pooler
// keeps pgx from asking for the parameters' types.
func encodeHeaders(entries []History) ([]*string, error) {
	encoded := make([]*string, len(entries))
	for i, h := range entries {
		if h.Event == nil {
			continue
		}
		rendered, err := json.Marshal(h.Event.Headers())
		if err != nil {
			return nil, fmt.Errorf("rendering headers of event %s: %w", h.Event.ID, err)
		}
		encoded[i] = new(string(rendered))
	}
	return encoded, nil
}

func ofEvent[Value any](field func(event.Event) *Value) func(History) *Value {
	return func(h History) *Value {
		if h.Event == nil {
			return nil
		}
		return field(*h.Event)
	}
}
