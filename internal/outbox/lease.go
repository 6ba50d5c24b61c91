package outbox

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed remove.sql
	removeSQL string
	//go:embed park.sql
	parkSQL string
)

// beginSQL names the isolation level, because a role's default may be another
// one: with a snapshot that is older than the locks, rows that a lane's former
// holder removed would be read again.
const beginSQL = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

// releaseWait bounds the ROLLBACK of a lease whose context has ended. Where it
// does not suffice the connection is closed, which rolls back too.
const releaseWait = time.Second

// ErrRowsGone means that rows which the lease held were removed by somebody
// else. What Settle was told is committed all the same.
var ErrRowsGone = errors.New("somebody else removed rows of a leased lane")

// Lease is an open transaction that holds lanes, and their oldest rows. While it
// is open nobody else reads, publishes or removes rows of these lanes; new rows
// are appended all the time.
type Lease struct {
	Rows []Row // lane by lane, in order within each

	reader *Reader
	conn   *pgxpool.Conn
	mark   mark
}

// Fate is what became of a row. The zero value leaves it where it is.
type Fate struct {
	// Published rows have been acknowledged by the broker and are removed.
	Published bool
	// Parked, when not empty, is why the row can never be published. It is moved
	// aside with this reason.
	Parked string
}

func (f Fate) gone() bool { return f.Published || f.Parked != "" }

// take fills the lease.
func (l *Lease) take(ctx context.Context, lanes []int16, limits Limits) error {
	var batch pgx.Batch
	batch.Queue(beginSQL)
	batch.Queue(settingsSQL)
	batch.Queue(lockSQL, lanes, l.mark.cursors, limits.Lanes)
	batch.Queue(readSQL, l.mark.cursors, limits.Rows, limits.Bytes)
	results := l.conn.SendBatch(ctx, &batch)
	err := l.receive(results)
	return errors.Join(err, results.Close())
}

func (l *Lease) receive(results pgx.BatchResults) error {
	for range 2 { // BEGIN and the settings
		if _, err := results.Exec(); err != nil {
			return err
		}
	}
	var setting string
	var held []int16
	var oldest, own uint64
	if err := results.QueryRow().Scan(&setting, &held, &oldest, &own); err != nil {
		return err
	}
	l.reader.horizon.observe(l.mark, oldest, own)
	if len(held) > 0 {
		l.reader.start.Store(int32(held[len(held)-1]+1) % Lanes)
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	return l.collect(rows)
}

func (l *Lease) collect(rows pgx.Rows) error {
	var headers arena
	for rows.Next() {
		var row Row
		if err := row.scan(rows, &headers); err != nil {
			return err
		}
		l.Rows = append(l.Rows, row)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	// The nested loop of read.sql delivers this order. SQL does not promise it
	// without an ORDER BY, which would sort the payloads.
	if !slices.IsSortedFunc(l.Rows, byLaneAndSeq) {
		slices.SortFunc(l.Rows, byLaneAndSeq)
	}
	if len(l.Rows) > 0 {
		newest := slices.MaxFunc(l.Rows, func(a, b Row) int { return cmp.Compare(a.Seq, b.Seq) })
		l.reader.horizon.read(l.mark, newest.Seq)
	}
	return nil
}

func byLaneAndSeq(a, b Row) int {
	return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Seq, b.Seq))
}

// Settle removes and parks rows as their fates say, fates[i] being that of
// Rows[i], and commits, in one round trip. The lanes are free afterwards, whatever
// it returns. After an error other than ErrRowsGone it is not known whether the
// rows were removed; those that were not will be read again.
func (l *Lease) Settle(ctx context.Context, fates []Fate) error {
	defer l.Release(ctx)
	var batch pgx.Batch
	var gone error
	for rows := range l.lanes() {
		l.queueLane(&batch, rows, fates, &gone)
	}
	if batch.Len() == 0 {
		return nil
	}
	batch.Queue("COMMIT")
	if err := l.conn.SendBatch(ctx, &batch).Close(); err != nil {
		l.reader.horizon.forget()
		return fmt.Errorf("settling a lease of %d rows: %w", len(l.Rows), err)
	}
	for rows := range l.lanes() {
		l.pass(rows, fates)
	}
	return gone
}

// span is a lane's part of the lease: Rows[from:to].
type span struct{ from, to int }

func (l *Lease) lanes() iter.Seq[span] {
	return func(yield func(span) bool) {
		for from := 0; from < len(l.Rows); {
			to := from + 1
			for to < len(l.Rows) && l.Rows[to].Lane == l.Rows[from].Lane {
				to++
			}
			if !yield(span{from, to}) {
				return
			}
			from = to
		}
	}
}

func (l *Lease) queueLane(batch *pgx.Batch, s span, fates []Fate, gone *error) {
	var published, parked []int64
	var reasons []string
	for i := s.from; i < s.to; i++ {
		switch {
		case fates[i].Published:
			published = append(published, l.Rows[i].Seq)
		case fates[i].Parked != "":
			parked, reasons = append(parked, l.Rows[i].Seq), append(reasons, fates[i].Parked)
		}
	}
	lane := l.Rows[s.from].Lane
	if len(published) > 0 {
		batch.Queue(removeSQL, lane, published).Exec(expectRows(lane, len(published), gone))
	}
	if len(parked) > 0 {
		batch.Queue(parkSQL, lane, parked, reasons).Exec(expectRows(lane, len(parked), gone))
	}
}

// expectRows notes a count that is not the one expected. It lets the commit pass:
// what was acknowledged may go in any case, and keeping it would publish it again.
func expectRows(lane int16, want int, gone *error) func(pgconn.CommandTag) error {
	return func(tag pgconn.CommandTag) error {
		if got := int(tag.RowsAffected()); got != want {
			*gone = errors.Join(*gone, fmt.Errorf("%w: %d of %d were left in lane %d", ErrRowsGone, got, want, lane))
		}
		return nil
	}
}

// pass moves the lane's cursor over the rows that are gone, up to the first one
// that stays.
func (l *Lease) pass(s span, fates []Fate) {
	last := int64(0)
	for i := s.from; i < s.to && fates[i].gone(); i++ {
		last = l.Rows[i].Seq
	}
	l.reader.horizon.emptied(l.mark, l.Rows[s.from].Lane, last)
}

// Release frees the lanes and leaves all rows where they are. It does nothing
// after Settle.
func (l *Lease) Release(ctx context.Context) {
	if l.conn == nil {
		return
	}
	if !l.conn.Conn().IsClosed() && l.conn.Conn().PgConn().TxStatus() != 'I' {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseWait)
		defer cancel()
		// When it fails the pool closes the connection, which rolls back too.
		_, _ = l.conn.Exec(ctx, "ROLLBACK")
	}
	l.conn.Release()
	l.conn = nil
}
