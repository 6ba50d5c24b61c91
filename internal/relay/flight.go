package relay

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/outbox"
)

// behindReason is why a row is parked that could be published itself.
const behindReason = "an earlier event of this payment is parked"

// flight is the publishing of one lease's rows.
//
// A row is handed to the client only after the previous row of its payment was
// acknowledged. Handing over both at once would do nearly always: a client that
// fails a record fails all that it holds behind it for the partition. But a record
// handed over a moment after that failure is published, ahead of the one that
// failed.
type flight struct {
	relay    *Relay
	rows     []outbox.Row
	fates    []outbox.Fate
	failures []failure
	records  []kgo.Record
	headers  []kgo.RecordHeader     // of all records, handed out from the front
	next     []int                  // next row of the same payment; 0: none
	parked   map[uuid.UUID]struct{} // payments of which this flight parks a row
	began    time.Time

	// What the client's goroutine and the step's share.
	mu      sync.Mutex
	aloft   []bool  // rows that the client has
	pending int     // how many
	results []error // the client's word on the rows that it had
	landed  []int   // rows that came back and were not looked at yet
	looked  []int   // the slice that landed was before, to be used again
	left    bool    // the step has given up waiting
	wake    chan struct{}
}

// failure is a row that stays, and why.
type failure struct {
	row int
	err error
}

func newFlight(r *Relay, rows []outbox.Row) *flight {
	headers := 0
	for i := range rows {
		headers += len(rows[i].Headers)
	}
	return &flight{
		relay: r, rows: rows, began: time.Now(), wake: make(chan struct{}, 1),
		fates: make([]outbox.Fate, len(rows)), records: make([]kgo.Record, len(rows)), next: make([]int, len(rows)),
		headers: make([]kgo.RecordHeader, headers), aloft: make([]bool, len(rows)), results: make([]error, len(rows)),
		landed: make([]int, 0, len(rows)), looked: make([]int, 0, len(rows)),
	}
}

// publish hands over the first row of each payment, and each further one once
// the row before it is acknowledged.
func (f *flight) publish(ctx context.Context) {
	latest := make(map[uuid.UUID]int, len(f.rows))
	first := make([]int, 0, len(f.rows))
	for i := range f.rows {
		key := f.rows[i].Key
		if before, ok := latest[key]; ok {
			f.next[before] = i
		} else {
			first = append(first, i)
		}
		latest[key] = i
	}
	for _, i := range first {
		f.begin(ctx, i)
	}
	f.await(func(i int, err error) {
		switch {
		case err != nil:
			f.failures = append(f.failures, failure{i, err})
		case f.next[i] != 0:
			f.begin(ctx, f.next[i])
		}
	})
}

// begin hands row i over. When it can never be published it is parked instead,
// and so are the rows of its payment behind it.
func (f *flight) begin(ctx context.Context, i int) {
	for f.park(i) {
		if i = f.next[i]; i == 0 {
			return
		}
	}
	f.send(ctx, i)
}

// publishOneByOne finds the row that is refused for good: each one is alone in
// its batch, because no other record is on its way.
func (f *flight) publishOneByOne(ctx context.Context) {
	for i := range f.rows {
		if f.park(i) {
			continue
		}
		f.send(ctx, i)
		f.await(func(i int, err error) {
			switch {
			case err == nil:
			case refusedForGood(err):
				f.parkAs(i, "the broker refused it: "+err.Error())
			default:
				f.failures = append(f.failures, failure{i, err})
			}
		})
		if f.fates[i] == (outbox.Fate{}) {
			return
		}
	}
}

// park parks row i when that is known to be right without asking the broker.
func (f *flight) park(i int) bool {
	row := &f.rows[i]
	_, behind := f.parked[row.Key]
	size := recordBytes(row)
	switch {
	case row.Behind || behind:
		f.parkAs(i, behindReason)
	case size > kafka.RecordBytesMax:
		f.parkAs(i, fmt.Sprintf("the record has %d bytes, more than %d", size, kafka.RecordBytesMax))
	default:
		if _, absent := f.relay.topics.find(row.Topic); !absent {
			return false
		}
		f.parkAs(i, fmt.Sprintf("topic %s does not exist", row.Topic))
	}
	return true
}

func (f *flight) parkAs(i int, reason string) {
	f.fates[i] = outbox.Fate{Parked: shorten(reason)}
	if f.parked == nil {
		f.parked = map[uuid.UUID]struct{}{}
	}
	f.parked[f.rows[i].Key] = struct{}{}
}

// send hands row i to the client, unless its topic is not known to exist.
func (f *flight) send(ctx context.Context, i int) {
	row := &f.rows[i]
	if present, _ := f.relay.topics.find(row.Topic); !present {
		f.failures = append(f.failures, failure{i, fmt.Errorf("topic %s is not known to exist", row.Topic)})
		return
	}
	f.records[i] = f.recordOf(row)
	f.mu.Lock()
	f.aloft[i] = true
	f.pending++
	f.mu.Unlock()
	f.relay.flying.Add(1)
	// It never blocks: a full client refuses, and the row stays. It is never
	// canceled: see kafka.Producer.
	f.relay.client.TryProduce(ctx, &f.records[i], func(_ *kgo.Record, err error) { f.land(i, err) })
}

// land takes the client's word on row i. It runs on the client's goroutine.
func (f *flight) land(i int, err error) {
	f.relay.flying.Add(-1)
	f.mu.Lock()
	f.aloft[i] = false
	f.pending--
	f.results[i] = err
	f.landed = append(f.landed, i)
	left := f.left
	f.mu.Unlock()
	if left {
		f.relay.landedLate(&f.rows[i], err)
		return
	}
	select {
	case f.wake <- struct{}{}:
	default: // the step is about to look
	}
}

// await looks at the rows that come back and calls then for each, until none is
// on its way or the step has waited long enough.
func (f *flight) await(then func(i int, err error)) {
	timeout := time.NewTimer(time.Until(f.began.Add(AckWaitMax)))
	defer timeout.Stop()
	for {
		landed, pending := f.look()
		for _, i := range landed {
			f.fates[i].Published = f.results[i] == nil
			then(i, f.results[i])
		}
		switch {
		case len(landed) > 0: // then may have sent more
			continue
		case pending == 0:
			return
		}
		select {
		case <-f.wake:
		case <-timeout.C:
			f.leave()
			return
		}
	}
}

// look returns the rows that came back since the last look. Their results are
// not written any more.
func (f *flight) look() (landed []int, pending int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.landed, f.looked = f.looked[:0], f.landed
	return f.looked, f.pending
}

// leave gives up waiting. The client may publish later what it still has; these
// rows stay, and their lanes are left alone until it has let go of them.
func (f *flight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = true
	for _, i := range f.landed {
		f.fates[i].Published = f.results[i] == nil
	}
	for i := range f.rows {
		if f.aloft[i] {
			f.relay.lanes.addLate(f.rows[i].Lane, 1, recordBytes(&f.rows[i]))
			f.failures = append(f.failures, failure{i, errLate})
		}
	}
}

// gone is how many rows leave the outbox.
func (f *flight) gone() int {
	gone := 0
	for _, fate := range f.fates {
		if fate != (outbox.Fate{}) {
			gone++
		}
	}
	return gone
}

// recordOf is the row as a record. It shares the row's memory.
func (f *flight) recordOf(row *outbox.Row) kgo.Record {
	n := len(row.Headers)
	headers := f.headers[:n:n]
	f.headers = f.headers[n:]
	for i, h := range row.Headers {
		headers[i] = kgo.RecordHeader{Key: h.Name, Value: h.Value}
	}
	return kgo.Record{Topic: row.Topic, Key: []byte(row.Key.String()), Value: row.Payload, Headers: headers}
}

// keyBytes is the length of a payment's id as text.
const keyBytes = 36

// recordBytes is what the row takes as a record, but for the framing.
func recordBytes(row *outbox.Row) int {
	size := keyBytes + len(row.Payload)
	for _, h := range row.Headers {
		size += len(h.Name) + len(h.Value)
	}
	return size
}
