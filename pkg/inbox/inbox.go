// Package inbox lets a consumer handle each message once.
//
//	Kafka ──> Consumer ──> Claim + handler     in one transaction
//	              └──────> DeadLetters         what can never be handled, whole
//
// Kafka delivers a message at least once: again after a crash, a rebalance, a
// replay. Claim writes the message's id in the transaction of the effect, so that
// id and effect exist together or not at all, and a message whose id is there is
// a repeat. No message is lost either: its offset is committed only after the
// transaction has been, or after the dead-letter topic has taken it.
//
// The tables come with the package: see Migrations.
package inbox

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Message names one delivery of a message.
type Message struct {
	ID         uuid.UUID
	RecordTime time.Time // the Kafka record's timestamp, which the floor is compared with
}

// Standing says what a consumer may do with a message.
type Standing int

// The standings. The zero value is never returned, so that a forgotten answer
// does not look like leave to act.
const (
	// Fresh: the caller's transaction is the one that handles the message.
	Fresh Standing = iota + 1
	// Repeat: a committed transaction has handled it, or it is in this call twice.
	Repeat
	// BelowFloor: its record timestamp lies below the consumer's floor and its id
	// is not there. It may have been handled and forgotten: refuse it.
	BelowFloor
)

// Claimed holds the standing of each message, in the order given to Claim.
type Claimed []Standing

// ErrFloorRaised is returned when the consumer's floor rose past a message while
// it was being claimed. Roll back; the next attempt sees the new floor.
var ErrFloorRaised = errors.New("the inbox floor was raised during the claim")

var (
	//go:embed claim.sql
	claimSQL string
	//go:embed floor.sql
	floorSQL string
	//go:embed known.sql
	knownSQL string
)

// Claim records the messages that the consumer has not handled yet as handled by
// tx, and says for each where it stands. If tx rolls back, none of it happened.
//
// When another transaction holds one of the messages, Claim waits for its end,
// bounded by ctx and lock_timeout. The ids are locked in ascending order: a
// transaction that claims once can deadlock with no other, so take all messages
// of a transaction in one call, before any other lock.
//
// It needs READ COMMITTED, PostgreSQL's default, and refuses other isolation
// levels. It does not delete old ids.
func Claim(ctx context.Context, tx pgx.Tx, consumer string, messages []Message) (Claimed, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	inserted, floor, err := claim(ctx, tx, consumer, messages)
	if err != nil {
		return nil, fmt.Errorf("claiming %d messages for %s: %w", len(messages), consumer, err)
	}
	claimed := make(Claimed, len(messages))
	for i, m := range messages {
		switch {
		case floor != nil && m.RecordTime.Before(*floor):
			claimed[i] = BelowFloor
		case inserted[m.ID]:
			claimed[i] = Fresh
			delete(inserted, m.ID) // the same id further on is a repeat
		default:
			claimed[i] = Repeat
		}
	}
	if len(inserted) > 0 { // the INSERT saw a lower floor than we do
		return nil, fmt.Errorf("claiming for %s: %w", consumer, ErrFloorRaised)
	}
	if err := claimed.recognize(ctx, tx, consumer, messages); err != nil {
		return nil, fmt.Errorf("looking for known messages of %s: %w", consumer, err)
	}
	return claimed, nil
}

// claim inserts ids and then reads the floor, in one round trip. The order
// matters. The floor is raised in the transaction that deletes ids; if that one
// commits just before our INSERT looks, the INSERT finds no id and takes a
// message for fresh that was handled long ago. A floor read after the INSERT, with
// a snapshot of its own, is then the raised one, and tells.
func claim(ctx context.Context, tx pgx.Tx, consumer string, messages []Message) (map[uuid.UUID]bool, *time.Time, error) {
	ids, times := columns(messages)
	inserted := make(map[uuid.UUID]bool, len(messages))
	var (
		isolation string
		floor     *time.Time
		batch     pgx.Batch
	)
	batch.Queue(claimSQL, consumer, ids, times).Query(func(rows pgx.Rows) error {
		var id uuid.UUID
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
			inserted[id] = true
			return nil
		})
		return err
	})
	batch.Queue(floorSQL, consumer).QueryRow(func(row pgx.Row) error { return row.Scan(&isolation, &floor) })
	if err := tx.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, nil, err
	}
	if isolation != "read committed" {
		return nil, nil, fmt.Errorf("the transaction is %s; only in a read committed one is a floor read after the insert a new one", isolation)
	}
	return inserted, floor, nil
}

// recognize turns BelowFloor into Repeat where the id is still there: what is
// known to be handled needs no one's attention.
func (c Claimed) recognize(ctx context.Context, tx pgx.Tx, consumer string, messages []Message) error {
	var below []string
	for i, standing := range c {
		if standing == BelowFloor {
			below = append(below, messages[i].ID.String())
		}
	}
	if len(below) == 0 {
		return nil
	}
	rows, err := tx.Query(ctx, knownSQL, consumer, below)
	if err != nil {
		return err
	}
	known := make(map[uuid.UUID]bool)
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error { known[id] = true; return nil }); err != nil {
		return err
	}
	for i, m := range messages {
		if c[i] == BelowFloor && known[m.ID] {
			c[i] = Repeat
		}
	}
	return nil
}

// columns renders ids as text: through a transaction pooler (exec mode) pgx knows
// no PostgreSQL type for a slice of UUIDs.
func columns(messages []Message) ([]string, []time.Time) {
	ids, times := make([]string, len(messages)), make([]time.Time, len(messages))
	for i, m := range messages {
		ids[i], times[i] = m.ID.String(), m.RecordTime
	}
	return ids, times
}
