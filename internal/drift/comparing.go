package drift

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed recall_unsettled.sql
var recallUnsettledSQL string

//go:embed compare.sql
var compareSQL string

// unsettledMax findings are asked about again in one scan.
const unsettledMax = 1000

// compare is one group of our operations, in the order of their ids: first those that
// earlier scans left for later, then those of the window. An id begins with the time
// at which it was made, so each operation belongs to one window, and the primary key
// finds those of a window in a table of any size.
func (w *work) compare(ctx context.Context) error {
	recalling := w.scan.Phase == Recalling
	end := firstID(w.scan.To)
	next := w.scan
	return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error {
		if recalling && w.scan.After == uuid.Nil {
			if _, err := tx.Exec(ctx, recallUnsettledSQL, w.scan.ID, w.scan.ProviderAccount, unsettledMax); err != nil {
				return fmt.Errorf("recalling what is unsettled: %w", err)
			}
		}
		var read int
		var last *uuid.UUID
		err := tx.QueryRow(ctx, compareSQL, w.scan.ID, w.scan.ProviderAccount, w.scan.Identity, w.scan.To,
			recalling, w.scan.After, end, compareMax).Scan(&read, &last)
		if err != nil {
			return fmt.Errorf("comparing operations with a list: %w", err)
		}
		switch {
		case read == compareMax:
			next.After = *last
		case recalling:
			next.Phase, next.After = Comparing, firstID(w.scan.From)
		default:
			next.Phase = Weighing
		}
		return nil
	})
}

// firstID is below every UUIDv7 that was made at or after the time, and above every
// one that was made in an earlier millisecond.
func firstID(at time.Time) uuid.UUID {
	var id uuid.UUID
	var milliseconds [8]byte
	binary.BigEndian.PutUint64(milliseconds[:], uint64(at.UnixMilli()))
	copy(id[:6], milliseconds[2:])
	return id
}
