package outbox

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed stats.sql
var statsSQL string

// LaneStats tells how a lane stands that holds rows.
type LaneStats struct {
	Lane      int16
	OldestSeq int64
	NewestSeq int64
	OldestAge time.Duration // since the oldest row was written, by the database's clock
}

// Stats looks at the lanes that hold rows. It counts nothing, because counting
// millions of rows takes longer than publishing many of them. NewestSeq −
// OldestSeq bounds a lane's rows from above: other lanes draw from the same
// sequence, so all lanes together hold at most the newest of all minus the oldest
// of all, plus one.
func (r *Reader) Stats(ctx context.Context) ([]LaneStats, error) {
	var batch pgx.Batch
	batch.Queue(settingsSQL)
	batch.Queue(statsSQL, r.horizon.mark().cursors)
	results := r.pool.SendBatch(ctx, &batch)
	defer func() { _ = results.Close() }()
	if _, err := results.Exec(); err != nil {
		return nil, fmt.Errorf("looking at the lanes: %w", err)
	}
	rows, err := results.Query()
	if err != nil {
		return nil, fmt.Errorf("looking at the lanes: %w", err)
	}
	stats, err := pgx.CollectRows(rows, scanLaneStats)
	if err != nil {
		return nil, fmt.Errorf("looking at the lanes: %w", err)
	}
	return stats, nil
}

func scanLaneStats(row pgx.CollectableRow) (LaneStats, error) {
	var s LaneStats
	var seconds float64
	err := row.Scan(&s.Lane, &s.OldestSeq, &s.NewestSeq, &seconds)
	s.OldestAge = time.Duration(seconds * float64(time.Second))
	return s, err
}
