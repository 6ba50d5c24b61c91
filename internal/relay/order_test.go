package relay_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/outbox"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

const (
	orderKeys    = 20
	orderEach    = 150 // events of each key
	orderWriters = 8
	// orderAct is how many records pass between two things that happen to relays.
	orderAct = 100
	// orderAhead is how far the writers may be ahead of the reader. Without it they are
	// done before the reader has seen much, and no relay has work in hand any more.
	orderAhead = 2 * orderAct
)

// order is the harness of P5 and R6: concurrent transactions write events of the
// same keys, and whatever is to publish them is killed, frozen and added to
// meanwhile.
type order struct {
	*bundle
	kind     string
	children []*child
	started  int
	killed   int
	frozen   int // with lanes or rows in hand
	mu       sync.Mutex
	written  []uuid.UUID
	allowed  int        // events that may be written by now
	grows    *sync.Cond // when allowed does
}

func newOrder(t *testing.T, broker testkit.Broker, kind string) *order {
	t.Helper()
	o := &order{bundle: &bundle{t: t, database: testkit.NewDatabase(t), broker: broker}, kind: kind, allowed: orderAhead}
	o.grows = sync.NewCond(&o.mu)
	_, err := o.database.Owner.Exec(t.Context(), `CREATE TABLE payment_stand_in (key uuid PRIMARY KEY, next int NOT NULL DEFAULT 0);
		GRANT SELECT, UPDATE ON payment_stand_in TO payonce_app`)
	require.NoError(t, err)
	return o
}

// run writes, disturbs and publishes everything, and returns all records.
func (o *order) run() sightings {
	var keys []uuid.UUID
	for range orderKeys {
		keys = append(keys, newID(o.t))
		_, err := o.database.Owner.Exec(o.t.Context(), "INSERT INTO payment_stand_in (key) VALUES ($1)", keys[len(keys)-1])
		require.NoError(o.t, err)
	}
	for range 3 {
		o.add()
	}
	var writers sync.WaitGroup
	for range orderWriters {
		writers.Go(func() { o.write(keys) })
	}
	c := o.consume(o.broker.Topics.Events)
	records := o.disturb(c)
	o.allow(orderKeys * orderEach)
	writers.Wait()
	require.Eventually(o.t, o.drained, 3*time.Minute, 20*time.Millisecond)
	for _, child := range o.children {
		child.signal(o.t, syscall.SIGKILL) // nothing is published after this
	}
	return newSightings(append(records, c.next(c.end()-len(records))...))
}

func (o *order) add() {
	o.started++
	o.children = append(o.children, o.startChild(o.kind, o.started))
}

// allow lets the writers write that many events more.
func (o *order) allow(events int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.allowed += events
	o.grows.Broadcast()
}

// awaitRoom waits until the writers may write more.
func (o *order) awaitRoom() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.written) >= o.allowed {
		o.grows.Wait()
	}
}

// read returns the next records, and lets the writers write as many more.
func (o *order) read(c *consumer, n int) []*kgo.Record {
	records := c.next(n)
	o.allow(n)
	return records
}

// write appends events to random keys until all are full. Transactions of one
// key are serialised by its row, as those of a payment are.
func (o *order) write(keys []uuid.UUID) {
	for full := 0; full < len(keys); {
		full = 0
		for _, at := range rand.Perm(len(keys)) {
			if !o.writeOnce(keys[at]) {
				full++
			}
		}
	}
}

// writeOnce is one transaction. It reports whether the key was not full yet. Some
// stay open for a while after their events are written, and some roll back.
func (o *order) writeOnce(key uuid.UUID) bool {
	o.awaitRoom()
	var events []event.Event
	errRolledBack := fmt.Errorf("rolled back on purpose")
	err := pgx.BeginFunc(o.t.Context(), o.database.App, func(tx pgx.Tx) error {
		var next int
		if err := tx.QueryRow(o.t.Context(), "SELECT next FROM payment_stand_in WHERE key = $1 FOR UPDATE", key).Scan(&next); err != nil {
			return err
		}
		for range min(1+rand.IntN(3), orderEach-next) {
			events = append(events, o.captured(key, next+len(events)))
		}
		if err := outbox.Append(o.t.Context(), tx, events); err != nil {
			return err
		}
		if rand.IntN(10) == 0 {
			return errRolledBack
		}
		_, err := tx.Exec(o.t.Context(), "UPDATE payment_stand_in SET next = next + $2 WHERE key = $1 AND pg_sleep($3) IS NOT NULL",
			key, len(events), rand.Float64()*rand.Float64()*rand.Float64()/50)
		return err
	})
	if errors.Is(err, errRolledBack) {
		return true
	}
	require.NoError(o.t, err)
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, e := range events {
		o.written = append(o.written, e.ID)
	}
	return len(events) > 0
}

// disturb lets something happen to the relays after every orderAct records.
func (o *order) disturb(c *consumer) []*kgo.Record {
	var records []*kgo.Record
	for act := 0; len(records)+orderAct < orderKeys*orderEach; act++ {
		records = append(records, o.read(c, orderAct)...)
		switch act % 4 {
		case 0:
			o.kill()
		case 1, 3:
			o.freeze(c, &records)
		case 2:
			o.add()
		}
	}
	return records
}

// kill ends the oldest child as a power failure would, and starts another one.
func (o *order) kill() {
	o.children[0].signal(o.t, syscall.SIGKILL)
	o.children = o.children[1:]
	o.killed++
	o.add()
}

// freeze stops a child in the middle of a step, ends its sessions as the server
// does after a while, lets the others go on with what it held, and wakes it.
func (o *order) freeze(c *consumer, records *[]*kgo.Record) {
	victim := o.children[rand.IntN(len(o.children))]
	if !o.stopWithWorkInHand(victim) {
		return
	}
	o.frozen++
	o.endSessions(o.sessions(), victim)
	if left := orderKeys*orderEach - len(*records); left > 2*orderAct {
		*records = append(*records, o.read(c, orderAct/2)...)
	}
	victim.signal(o.t, syscall.SIGCONT)
}

// stopWithWorkInHand freezes the child at a moment at which it holds lanes: its
// transaction has an id. Between two tries there is something new to do.
func (o *order) stopWithWorkInHand(victim *child) bool {
	const tries = 1000
	for range tries {
		victim.signal(o.t, syscall.SIGSTOP)
		var holds bool
		require.NoError(o.t, o.sessions().QueryRow(o.t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = $1 AND backend_xid IS NOT NULL)`, victim.name).Scan(&holds))
		if holds {
			return true
		}
		victim.signal(o.t, syscall.SIGCONT)
		o.allow(1)
	}
	return false
}

// endSessions ends the child's sessions at the server.
func (b *bundle) endSessions(pool *pgxpool.Pool, c *child) {
	b.t.Helper()
	_, err := pool.Exec(b.t.Context(),
		"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1", c.name)
	require.NoError(b.t, err)
}

// sessions is a pool of the role that the children have, which alone sees what
// they are doing.
func (o *order) sessions() *pgxpool.Pool {
	if o.kind == kindPoller {
		return o.database.Owner
	}
	return o.database.App
}

func (o *order) requireNothingLost(s sightings) {
	o.t.Helper()
	require.Len(o.t, o.written, orderKeys*orderEach)
	for _, id := range o.written {
		require.Contains(o.t, s.ids, id.String(), "lost")
	}
	require.Len(o.t, s.ids, len(o.written), "P5: nothing of a transaction that rolled back")
	require.Empty(o.t, s.changed, "a repeat is the same record")
}

func TestR6_EventsOfAPaymentKeepTheirOrderWhateverHappensToRelays(t *testing.T) {
	t.Parallel()
	for name, broker := range map[string]func(testing.TB) testkit.Broker{"kfake": testkit.NewFakeBroker, "Apache Kafka": testkit.RealBroker} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOrder(t, broker(t), kindRelay)
			s := o.run()
			t.Logf("%d relays started, %d killed, %d frozen with lanes in hand, %d records repeated", o.started, o.killed, o.frozen, s.repeated)
			require.Empty(t, s.disorder())
			o.requireNothingLost(s)
			require.GreaterOrEqual(t, o.killed, 3)
			require.GreaterOrEqual(t, o.frozen, 3)
		})
	}
}

// The harness can fail: it sees the disorder of pollers without lanes.
func TestR6_TheHarnessSeesTheDisorderOfPollersWithoutLanes(t *testing.T) {
	t.Parallel()
	o := newOrder(t, testkit.NewFakeBroker(t), kindPoller)
	s := o.run()
	require.NotEmpty(t, s.disorder())
}

// The worst moment: everything is published and nothing is removed. A second
// transaction holds the rows' locks, so that the relay's DELETE waits. Its sessions
// are ended too: the DELETE and its COMMIT have reached the server, which would
// carry them out for a client that is gone.
func TestR6_AKilledRelayRepeatsEventIDsAndLosesNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	want := b.spread(50)
	holder, err := b.database.Owner.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "SELECT FROM outbox FOR UPDATE")
	require.NoError(t, err)
	victim := b.startChild(kindRelay, 1)
	c := b.consume(b.broker.Topics.Events)
	records := c.next(50)
	victim.signal(t, syscall.SIGKILL)
	b.endSessions(b.database.App, victim)
	require.NoError(t, holder.Rollback(t.Context()))
	require.Equal(t, 50, b.count("outbox"))

	b.start(b.newRelay())
	require.Eventually(t, b.drained, soon, 10*time.Millisecond)
	s := newSightings(append(records, c.next(c.end()-len(records))...))
	require.Equal(t, 50, s.repeated)
	require.Empty(t, s.changed)
	require.Len(t, s.ids, len(want))
}

// A relay that is frozen for good, or whose host vanished, loses its lanes by the
// server's clock.
func TestR6_LanesOfAFrozenRelayAreFreedByTheServer(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	outage := b.fault(kerr.NotEnoughReplicas, "")
	frozen := b.startChild(kindRelay, 1)
	payment := newID(t)
	b.commit(b.captured(payment, 0))
	// The refusal says that the relay has read its row and sent it, and that it waits
	// before it sends it again. One that is stopped earlier loses its session before it
	// has the row; one whose request is on its way publishes the row while it is stopped.
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	require.NoError(t, outage.Wait(ctx, 1))
	frozen.signal(t, syscall.SIGSTOP)
	require.Equal(t, 1, b.lockedLanes())
	outage.Remove()

	b.start(b.newRelay())
	b.commit(b.captured(payment, 1))
	c := b.consume(b.broker.Topics.Events)
	require.Equal(t, []string{`{"n":0}`, `{"n":1}`}, values(c.next(2)))
	frozen.signal(t, syscall.SIGCONT)
	require.Equal(t, []string{`{"n":0}`}, values(c.next(1)), "what the frozen one had sent before arrives again")
}
