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

// compare is one group of our operations, in the order of their ids: first those that
// earlier scans left for later, then those of the window. An id begins with the time
// at which it was made, so each operation belongs to one window, and the primary key
// finds those of a window in a table of any size.
func (w *work) compare(ctx context.Context) error {
	recalling := w.scan.Phase == Recalling
	end := firstID(w.scan.To)
	next := w.scan
	return w.scan.advance(ctx, w.Pool, next, func(tx pgx.Tx, next *Scan) error {
		more := false
		if recalling {
			var err error
			if more, err = recallUnsettled(ctx, tx, next); err != nil {
				return err
			}
		}
		var read int
		var last *uuid.UUID
		err := tx.QueryRow(ctx, compareSQL, w.scan.ID, w.scan.ProviderAccount, w.scan.Identity, w.scan.To,
			recalling, w.scan.After, end, compareMax).Scan(&read, &last)
		if err != nil {
			return fmt.Errorf("comparing operations with a list: %w", err)
		}
		if last != nil {
			next.After = *last
		}
		switch {
		case more || read == compareMax:
		case recalling:
			next.Phase, next.Cursor, next.After = Comparing, "", firstID(w.scan.From)
		default:
			next.Phase = Weighing
		}
		return nil
	})
}

// recallUnsettled takes one page of unsettled findings and reports whether there may be
// more. The list is read to its end by now, so the cursor holds the page's last finding.
func recallUnsettled(ctx context.Context, tx pgx.Tx, next *Scan) (more bool, err error) {
	after := uuid.Nil
	if next.Cursor != "" {
		if after, err = uuid.Parse(next.Cursor); err != nil {
			return false, fmt.Errorf("reading the cursor of findings: %w", err)
		}
	}
	var read int
	var last *uuid.UUID
	if err := tx.QueryRow(ctx, recallUnsettledSQL, next.ID, next.ProviderAccount, after, compareMax).Scan(&read, &last); err != nil {
		return false, fmt.Errorf("recalling what is unsettled: %w", err)
	}
	if last != nil {
		next.Cursor = last.String()
	}
	return read == compareMax, nil
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
