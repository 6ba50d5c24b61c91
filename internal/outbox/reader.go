package outbox

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed settings.sql
	settingsSQL string
	//go:embed writers.sql
	writersSQL string
	//go:embed waiting.sql
	waitingSQL string
	//go:embed lock.sql
	lockSQL string
	//go:embed read.sql
	readSQL string
)

// Reader takes rows out of the outbox, lane by lane. Any number of readers may
// work on one outbox; within one, all methods may be called side by side. It works
// through a transaction pooler.
type Reader struct {
	pool    *pgxpool.Pool
	horizon horizon
	start   atomic.Int32 // the lane that the next lease begins with
}

// NewReader returns a reader that knows nothing yet about the outbox.
func NewReader(pool *pgxpool.Pool) *Reader { return &Reader{pool: pool} }

// Waiting returns the lanes that hold rows. It takes no lock, so a lane may be
// in somebody's hands, and opens no transaction that outlives it.
func (r *Reader) Waiting(ctx context.Context) ([]int16, error) {
	if err := r.askForWriters(ctx); err != nil {
		return nil, err
	}
	m := r.horizon.mark()
	var batch pgx.Batch // without BEGIN: a transaction of its own, for the settings
	batch.Queue(settingsSQL)
	batch.Queue(waitingSQL, m.cursors)
	results := r.pool.SendBatch(ctx, &batch)
	_, err := results.Exec()
	var oldest uint64
	var lanes []int16
	if err == nil {
		err = results.QueryRow().Scan(&oldest, &lanes)
	}
	if closeErr := results.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		r.horizon.forget()
		return nil, fmt.Errorf("looking for waiting lanes: %w", err)
	}
	r.horizon.observe(m, oldest, 0)
	r.passEmptyLanes(m, lanes)
	return lanes, nil
}

// askForWriters looks who keeps the cursors where they are, when it is time to.
func (r *Reader) askForWriters(ctx context.Context) error {
	if !r.horizon.overdue() {
		return nil
	}
	m := r.horizon.mark()
	var writers []string
	if err := r.pool.QueryRow(ctx, writersSQL).Scan(&writers); err != nil {
		r.horizon.forget()
		return fmt.Errorf("looking for open writers: %w", err)
	}
	r.horizon.open(m, writers)
	return nil
}

// passEmptyLanes moves the cursors of the lanes in which nothing was found.
func (r *Reader) passEmptyLanes(m mark, waiting []int16) {
	var found [Lanes]bool
	for _, lane := range waiting {
		found[lane] = true
	}
	for lane := range int16(Lanes) {
		if !found[lane] {
			r.horizon.emptied(m, lane, everything)
		}
	}
}

// Limits bound one lease.
type Limits struct {
	Lanes int // how many lanes are locked
	Rows  int // shared evenly by the lanes
	Bytes int // of payloads and headers, shared evenly; a lane's first row comes anyway
}

// Lease locks free lanes among those given and reads their oldest rows, in one
// round trip. It returns nil when no lane is both free and filled. A lease holds a
// transaction and a connection: settle or release it within seconds.
func (r *Reader) Lease(ctx context.Context, lanes []int16, limits Limits) (*Lease, error) {
	if err := r.askForWriters(ctx); err != nil {
		return nil, err
	}
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		r.horizon.forget()
		return nil, fmt.Errorf("connecting for a lease: %w", err)
	}
	l := &Lease{reader: r, conn: conn, mark: r.horizon.mark()}
	if err := l.take(ctx, r.fromStart(lanes), limits); err != nil {
		r.horizon.forget()
		l.Release(ctx)
		return nil, fmt.Errorf("leasing lanes: %w", err)
	}
	if len(l.Rows) == 0 {
		l.Release(ctx)
		return nil, nil
	}
	return l, nil
}

// fromStart sorts lanes so that a lease begins where the last one ended: low
// lanes must not starve the rest.
func (r *Reader) fromStart(lanes []int16) []int16 {
	start := int16(r.start.Load()) //nolint:gosec // below Lanes
	return slices.SortedFunc(slices.Values(lanes), func(a, b int16) int {
		return cmp.Compare((a-start+Lanes)%Lanes, (b-start+Lanes)%Lanes)
	})
}
