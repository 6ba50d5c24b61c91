package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
	"github.com/payonce/payonce/pkg/payment"
)

// claimLockWait keeps one held payment from keeping a group of messages waiting;
// past it the group is split.
const claimLockWait = 50 * time.Millisecond

// Feed is where the messages come from.
type Feed struct {
	Brokers []string
	Topics  event.Topics
	Options []kgo.Opt // of the connection
}

// Consume claims and sends what messages announce, until ctx ends. It returns an
// error when Kafka has lost records: PostgreSQL still gets every payment done,
// but someone must look at why.
func (w *Worker) Consume(ctx context.Context, pool *pgxpool.Pool, feed Feed) error {
	taker := &taker{worker: w}
	defer taker.drop()
	consumer, err := inbox.NewConsumer(inbox.Config{
		Name: Consumer, Group: Consumer, Brokers: feed.Brokers, Topic: feed.Topics.Requests, DeadLetters: feed.Topics.DeadLetters,
		Types: []event.Type{event.PaymentRequested, event.RefundRequested}, Committed: taker.committed, Aborted: taker.aborted, Log: w.log,
	}, pool, taker.take, feed.Options...)
	if err != nil {
		return err
	}
	return consumer.Run(ctx)
}

// taker turns messages into attempts: the claims in the messages' transaction,
// the sends after its commit. The consumer works on one transaction at a time,
// so one set of claims is pending at most.
type taker struct {
	worker   *Worker
	started  time.Time
	attempts []operation.Attempt
	held     map[*circuit]int // slots taken for this transaction and not launched
}

// take claims as many of the operations as there are free slots for and parks
// the rest: an open breaker, a provider that is slow, a line, an account of others. A
// parked operation is due at once and the due list takes it as slots come free,
// so that the message's transaction never waits for a provider.
func (t *taker) take(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
	t.drop()
	t.started = time.Now()
	if err := groupcommit.SetLockWait(ctx, tx, claimLockWait); err != nil {
		return err
	}
	byLine, err := t.addresses(ctx, tx, messages)
	if err != nil {
		return err
	}
	var admitted []uuid.UUID
	parked := map[string][]uuid.UUID{} // by reason
	for l, ids := range byLine {
		n, reason := t.admit(l, len(ids))
		admitted = append(admitted, ids[:n]...)
		parked[reason] = append(parked[reason], ids[n:]...)
	}
	if len(admitted) > 0 {
		if t.attempts, err = t.worker.claimFor(t.gates()...).Claim(ctx, tx, admitted); err != nil {
			return err
		}
	}
	for reason, ids := range parked {
		if err := operation.Park(ctx, tx, ids, 0, reason); err != nil {
			return err
		}
	}
	return nil
}

// line is what goes through one circuit.
type line struct {
	account string
	kind    payment.Kind
}

// admit takes slots for up to wanted operations of a line, and says why the others
// have to wait.
func (t *taker) admit(l line, wanted int) (int, string) {
	g, served := t.worker.gates[l.account]
	if !served {
		return 0, ReasonNotServed
	}
	c := g.circuits[l.kind]
	n, reason := c.admitNew(wanted)
	t.held[c] += n
	return n, reason
}

func (t *taker) gates() []*gate { return slices.Collect(maps.Values(t.worker.gates)) }

// committed launches what the transaction claimed. Slots of operations that were
// not there to be claimed go back.
func (t *taker) committed(ctx context.Context, _ []inbox.Received) {
	for _, a := range t.attempts {
		t.held[t.worker.circuit(a)]--
	}
	t.worker.launch(ctx, t.attempts, t.started)
	t.attempts = nil
	t.drop()
}

// aborted gives everything back that a transaction took which did not surely
// commit. Slots must not wait for the next message: the due list needs them, and it
// is what gets payments done when no message comes.
func (t *taker) aborted(ctx context.Context, inDoubt bool) {
	if inDoubt {
		t.worker.disown(ctx, t.attempts, t.started)
	}
	t.drop()
}

// drop forgets what was taken and not launched.
func (t *taker) drop() {
	for c, n := range t.held {
		c.release(n)
	}
	t.held, t.attempts = map[*circuit]int{}, nil
}

func (t *taker) addresses(ctx context.Context, tx pgx.Tx, messages []inbox.Received) (map[line][]uuid.UUID, error) {
	asked := make(map[uuid.UUID]work, len(messages)) // by operation
	ids := make([]uuid.UUID, 0, len(messages))
	for _, m := range messages {
		w, err := named(m)
		if err != nil {
			return nil, err
		}
		if w.payment != m.Key {
			return nil, inbox.Reject(errors.New("the data is about another payment than the record's key"))
		}
		asked[w.operation], ids = w, append(ids, w.operation)
	}
	found, err := operation.Addresses(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	byLine := map[line][]uuid.UUID{}
	for id, w := range asked {
		address, ok := found[id]
		if !ok || address.PaymentID != w.payment || address.Kind != w.kind {
			return nil, inbox.Reject(fmt.Errorf("payment %s has no %s %s in this database", w.payment, w.kind, id))
		}
		l := line{account: address.ProviderAccount, kind: address.Kind}
		byLine[l] = append(byLine[l], id)
	}
	return byLine, nil
}

// work is what a message names.
type work struct {
	payment, operation uuid.UUID
	kind               payment.Kind
}

func named(m inbox.Received) (work, error) {
	w := work{kind: payment.KindCharge}
	var err error
	if m.Type == event.RefundRequested {
		var data event.RefundAsked
		err = json.Unmarshal(m.Payload, &data)
		w = work{payment: data.PaymentID, operation: data.RefundID, kind: payment.KindRefund}
	} else {
		var data event.Requested
		err = json.Unmarshal(m.Payload, &data)
		w.payment, w.operation = data.PaymentID, data.OperationID
	}
	if err != nil {
		return work{}, inbox.Reject(fmt.Errorf("the data is no %s: %w", m.Type, err))
	}
	return w, nil
}
