// Package await lets many clients wait for payments with one look at a time.
//
//	clients ──Wait──> Room ──every LookInterval, all ids at once──> database
//	   ▲                │
//	   └── told, once ──┘
//
// Its promise: who waits is told once its payment is final, or leaves when its time
// is over. What becomes final before somebody comes in, or between two looks, is
// seen by the next look, because each one asks about everything that is waited for:
// nothing is subscribed to, so nothing can be missed. Nobody waits, nobody looks.
package await

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// WaitersMax bounds who waits in one process, and with them the memory.
	WaitersMax = 8192
	// LookInterval lies between two looks. A look that takes longer is followed by
	// a pause of its own length, so that looks never take more than half of one
	// connection's time.
	LookInterval = 20 * time.Millisecond
	// IDsMax bounds the ids of one query.
	IDsMax = 1024
	// lookWait bounds one query. Past it the database counts as down.
	lookWait = 2 * time.Second
	// outageInterval lies between two looks while the database cannot be asked.
	outageInterval = 250 * time.Millisecond
)

// The reasons not to wait at all, or not any longer.
var (
	// ErrFull says that WaitersMax are waiting.
	ErrFull = errors.New("too many are waiting")
	// ErrClosed says that the process is about to stop.
	ErrClosed = errors.New("nobody can wait any longer")
)

// Look returns what is to be told about those of the ids that are final, and
// nothing about the others. It is given at most IDsMax ids, each of them once.
type Look[News any] func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]News, error)

// Room is where clients wait. Make it with New; nobody is told anything unless Run
// runs. It uses one connection at a time.
type Room[News any] struct {
	look     Look[News]
	log      *zap.Logger
	somebody chan struct{} // filled when the first one comes in
	closed   chan struct{}
	close    func()

	mu      sync.Mutex
	tables  map[uuid.UUID]*table[News]
	waiting int
}

// table is where those sit who wait for one payment.
type table[News any] struct {
	guests int
	told   chan struct{} // closed after news is set
	news   News
}

// New returns an empty room.
func New[News any](look Look[News], log *zap.Logger) *Room[News] {
	closed := make(chan struct{})
	return &Room[News]{
		look: look, log: log, somebody: make(chan struct{}, 1), tables: map[uuid.UUID]*table[News]{},
		closed: closed, close: sync.OnceFunc(func() { close(closed) }),
	}
}

// Wait returns the news of a payment once it is final. It returns ErrFull at once
// when there is no place, ErrClosed at once when the room is closed or closes, and
// ctx's error when ctx ends first.
func (r *Room[News]) Wait(ctx context.Context, id uuid.UUID) (News, error) {
	var none News
	t, err := r.sit(id)
	if err != nil {
		return none, err
	}
	defer r.leave(id, t)
	select {
	case <-t.told:
		return t.news, nil
	case <-r.closed:
		err = ErrClosed
	case <-ctx.Done():
		err = ctx.Err()
	}
	select {
	case <-t.told: // at the same moment, and it is the better answer
		return t.news, nil
	default:
		return none, err
	}
}

// Waiting returns how many wait now.
func (r *Room[News]) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiting
}

// Close sends everyone away who waits, and whoever comes in later. It does not wait
// for them, and may be called more than once.
func (r *Room[News]) Close() { r.close() }

func (r *Room[News]) sit(id uuid.UUID) (*table[News], error) {
	select {
	case <-r.closed:
		return nil, ErrClosed
	default:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting >= WaitersMax {
		return nil, ErrFull
	}
	t := r.tables[id]
	if t == nil {
		t = &table[News]{told: make(chan struct{})}
		r.tables[id] = t
	}
	t.guests++
	r.waiting++
	select {
	case r.somebody <- struct{}{}:
	default:
	}
	return t, nil
}

func (r *Room[News]) leave(id uuid.UUID, t *table[News]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	t.guests--
	// A payment that was told has no table any more, or somebody else's.
	if t.guests == 0 && r.tables[id] == t {
		delete(r.tables, id)
	}
}

// Run looks while anyone waits, until ctx ends. Then it closes the room.
func (r *Room[News]) Run(ctx context.Context) {
	defer r.Close()
	for {
		select {
		case <-r.somebody:
		case <-ctx.Done():
			return
		}
		r.lookUntilEmpty(ctx)
	}
}

func (r *Room[News]) lookUntilEmpty(ctx context.Context) {
	for pause := LookInterval; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		ids := r.ids()
		if len(ids) == 0 {
			return
		}
		pause = r.lookAt(ctx, ids, pause)
	}
}

// lookAt tells those whose payment is final, and returns the time until the next
// look. lastPause tells it whether the look before failed, too.
func (r *Room[News]) lookAt(ctx context.Context, ids []uuid.UUID, lastPause time.Duration) time.Duration {
	began := time.Now()
	for some := range slices.Chunk(ids, IDsMax) {
		news, err := r.ask(ctx, some)
		if err != nil {
			if lastPause != outageInterval && ctx.Err() == nil {
				r.log.Warn("what clients wait for cannot be looked at, they wait on", zap.Error(err))
			}
			return outageInterval
		}
		r.tell(news)
	}
	return max(LookInterval, time.Since(began))
}

func (r *Room[News]) ask(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]News, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWait)
	defer cancel()
	return r.look(ctx, ids)
}

func (r *Room[News]) ids() []uuid.UUID {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := make([]uuid.UUID, 0, len(r.tables))
	for id := range r.tables {
		ids = append(ids, id)
	}
	return ids
}

func (r *Room[News]) tell(news map[uuid.UUID]News) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, said := range news {
		if t := r.tables[id]; t != nil {
			t.news = said
			close(t.told)
			delete(r.tables, id)
		}
	}
}
