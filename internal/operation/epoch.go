package operation

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// ErrClockBehind means that the database's clock shows an earlier time than the birth
// of an operation that is open. Nothing was done.
var ErrClockBehind = errors.New("the database's clock is behind the newest operation: correct it, or wait until it has passed")

// Epoch says that commits which PostgreSQL had acknowledged were lost by then. From
// the moment that it is committed, nothing that was there before is sent, failed or
// canceled until the epoch is recorded at it; from then on it is unknown or pending,
// and the provider is asked.
type Epoch struct {
	ID       uuid.UUID
	BumpedAt time.Time // database clock
	// InFlight is how long after BumpedAt a request of a lost attempt may still have
	// been sent: the longest lease of any worker, and its bytes under way.
	InFlight    time.Duration
	Who, Reason string
}

//go:embed begin_epoch.sql
var beginEpochSQL string

//go:embed newest_epoch.sql
var newestEpochSQL string

//go:embed open_at_epoch.sql
var openAtEpochSQL string

//go:embed count_open.sql
var countOpenSQL string

//go:embed record_lost.sql
var recordLostSQL string

// BeginEpoch stores an epoch that begins now and returns it with its time, or
// ErrClockBehind.
func BeginEpoch(ctx context.Context, q Querier, e Epoch) (Epoch, error) {
	rows, err := q.Query(ctx, beginEpochSQL, e.ID, e.InFlight, e.Who, e.Reason)
	if err != nil {
		return Epoch{}, fmt.Errorf("beginning an epoch: %w", err)
	}
	begun, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Epoch])
	switch {
	case err != nil:
		return Epoch{}, fmt.Errorf("beginning an epoch: %w", err)
	case len(begun) == 0:
		return Epoch{}, ErrClockBehind
	}
	return begun[0], nil
}

// NewestEpoch reports false when no commits were ever lost.
func NewestEpoch(ctx context.Context, q Querier) (Epoch, bool, error) {
	rows, err := q.Query(ctx, newestEpochSQL)
	if err != nil {
		return Epoch{}, false, fmt.Errorf("reading the newest epoch: %w", err)
	}
	newest, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Epoch])
	if err != nil || len(newest) == 0 {
		if err != nil {
			err = fmt.Errorf("reading the newest epoch: %w", err)
		}
		return Epoch{}, false, err
	}
	return newest[0], true, nil
}

// OpenAt returns operations that are not final and at which the epoch is not recorded
// yet, by id, beyond after. It locks nothing.
func (e Epoch) OpenAt(ctx context.Context, q Querier, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	rows, err := q.Query(ctx, openAtEpochSQL, e.ID, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading what is open: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("reading what is open: %w", err)
	}
	return ids, nil
}

// OpenCount is how many operations of an account are in a state.
type OpenCount struct {
	ProviderAccount string
	State           payment.OperationState
	Operations      int
}

// CountOpen counts the operations that are not final; with an epoch, those at which
// it is not recorded yet.
func CountOpen(ctx context.Context, q Querier, epoch uuid.UUID) ([]OpenCount, error) {
	rows, err := q.Query(ctx, countOpenSQL, postgres.Given(epoch))
	if err != nil {
		return nil, fmt.Errorf("counting what is open: %w", err)
	}
	counts, err := pgx.CollectRows(rows, pgx.RowToStructByPos[OpenCount])
	if err != nil {
		return nil, fmt.Errorf("counting what is open: %w", err)
	}
	return counts, nil
}

// rememberedMax bounds how many operations are gone through for one that was sent.
const rememberedMax = 100_000

// LostFenceJump is how far above an operation's fence the attempt is that stands for
// what was lost. A claim that was lost had one of the next fences, and its worker may
// still tell how it went: no operation is claimed and moved a million times, so what
// is told under a fence in between is told by one that was lost, and by no other.
const LostFenceJump int64 = 1 << 20

// RecordLost records the epoch at locked operations, by the attempt that stands for
// all that may have been lost, and returns those that it was not recorded at before.
// The caller raises their fence by LostFenceJump, to that attempt's.
func (e Epoch) RecordLost(ctx context.Context, tx pgx.Tx, locked []Locked) (map[uuid.UUID]bool, error) {
	rows, err := tx.Query(ctx, recordLostSQL, e.ID,
		postgres.Column(locked, func(l Locked) uuid.UUID { return l.ID }),
		postgres.Column(locked, func(l Locked) int64 { return l.Fence + LostFenceJump }), rememberedMax)
	if err != nil {
		return nil, fmt.Errorf("recording what was lost: %w", err)
	}
	recorded := make(map[uuid.UUID]bool, len(locked))
	var id uuid.UUID
	if _, err := pgx.ForEachRow(rows, []any{&id}, func() error {
		recorded[id] = true
		return nil
	}); err != nil {
		return nil, fmt.Errorf("recording what was lost: %w", err)
	}
	return recorded, nil
}
