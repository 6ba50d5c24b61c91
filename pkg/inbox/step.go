package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
)

// fate is what became of a record in a step.
type fate int

const (
	waiting fate = iota // nothing yet; the zero value, so that a forgotten record comes back
	refused             // to be published to the dead letters
	settled             // it need not come back
)

// item is one record in a step.
type item struct {
	record  *kgo.Record
	message Received // when waiting
	refusal Refused  // when refused
	fate    fate
}

func (i *item) refuse(reason Reason, detail string) {
	i.refusal = Refused{Record: i.record, Reason: reason, Detail: detail}
	i.fate = refused
}

// stretch is what a step has of one partition, in its order.
type stretch []*item

// before is the part of the stretch before its first item of the fate.
func (s stretch) before(f fate) stretch {
	for n, i := range s {
		if i.fate == f {
			return s[:n]
		}
	}
	return s
}

// step is one poll's records on their way through the consumer.
type step struct {
	*Consumer
	stretches map[int32]stretch // by partition
	stopping  <-chan struct{}   // closed when Run shall return
}

// step takes what was polled as far as it gets: transaction, dead letters, marks,
// in this order, so that a crash between two of them repeats and never loses. What
// does not get through is what the next poll begins with. The error says why it
// did not; nothing is left half done either way.
func (c *Consumer) step(ctx context.Context, client *kgo.Client, letters *DeadLetters, fetches kgo.Fetches) error {
	s := &step{Consumer: c, stretches: c.sort(fetches), stopping: ctx.Done()}
	ctx, cancel := outlive(ctx, stopWait)
	defer cancel()
	err := errors.Join(s.apply(ctx), s.publish(ctx, letters))
	s.advance(client)
	return err
}

// sort decides what can be decided without the database.
func (c *Consumer) sort(fetches kgo.Fetches) map[int32]stretch {
	stretches := make(map[int32]stretch)
	fetches.EachRecord(func(r *kgo.Record) {
		i := &item{record: r}
		message, err := Receive(r)
		switch {
		case err != nil:
			i.refuse(ReasonMalformed, err.Error())
		case c.interest.handles(message.Type):
			i.message = message
		case c.interest.lacks(message.Type):
			i.refuse(ReasonUnknownVersion, string(message.Type))
		default:
			i.fate = settled
		}
		stretches[r.Partition] = append(stretches[r.Partition], i)
	})
	return stretches
}

// apply handles all messages in one transaction. When that fails, no matter why,
// they are handled one by one, and each partition gets as far as its first message
// that fails: those behind it may depend on it.
func (s *step) apply(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	var group []*item
	for _, partition := range s.stretches {
		for _, i := range partition {
			if i.fate == waiting {
				group = append(group, i)
			}
		}
	}
	if len(group) > 1 {
		err := s.together(ctx, group)
		if err == nil || isAbsent(err) {
			return err
		}
		s.log.Info("consumer splits a group", zap.Int("messages", len(group)), zap.Error(err))
	}
	var failed error
	for _, partition := range s.stretches {
		err := s.oneByOne(ctx, partition)
		failed = errors.Join(failed, err)
		if isAbsent(err) {
			break // the other partitions would wait for the same database
		}
	}
	return failed
}

func (s *step) together(ctx context.Context, group []*item) error {
	ctx, cancel := context.WithTimeout(ctx, groupWait)
	defer cancel()
	return s.transact(ctx, group)
}

func (s *step) oneByOne(ctx context.Context, partition stretch) error {
	for _, i := range partition {
		if i.fate != waiting {
			continue
		}
		select {
		case <-s.stopping:
			return nil
		default:
		}
		err := s.transact(ctx, []*item{i})
		var r rejection
		switch {
		case errors.As(err, &r):
			i.refuse(ReasonRejected, r.cause.Error())
		case err != nil:
			return err
		}
	}
	return nil
}

// transact handles the items in one transaction. On an error, all of them wait on.
func (s *step) transact(ctx context.Context, items []*item) error {
	begun, handled := false, false
	var claimed Claimed
	var fresh []Received
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		begun = true
		var err error
		claimed, fresh, err = s.handle(ctx, tx, items)
		handled = err == nil
		return err
	})
	if err != nil && !begun {
		return absent{err}
	}
	if err != nil {
		if s.config.Aborted != nil {
			s.config.Aborted(ctx, handled && !answered(err))
		}
		return err
	}
	if s.config.Committed != nil && len(fresh) > 0 {
		s.config.Committed(ctx, fresh)
	}
	for n, i := range items {
		if claimed[n] == BelowFloor {
			i.refuse(ReasonBelowFloor, "the record is older than the consumer's memory of what it has handled")
			continue
		}
		i.fate = settled
	}
	return nil
}

// answered reports whether the error of a commit is PostgreSQL's own word that there was
// none. A server that ends a session may have committed before, and says FATAL.
func answered(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return errors.Is(err, pgx.ErrTxCommitRollback) || (ok && refused.SeverityUnlocalized == "ERROR")
}

// handle claims the items and gives the fresh ones, which it returns, to the handler.
func (s *step) handle(ctx context.Context, tx pgx.Tx, items []*item) (Claimed, []Received, error) {
	messages := make([]Message, len(items))
	for n, i := range items {
		messages[n] = Message{ID: i.message.ID, RecordTime: i.message.RecordTime}
	}
	claimed, err := Claim(ctx, tx, s.config.Name, messages)
	if err != nil {
		return nil, nil, err
	}
	var fresh []Received
	for n, i := range items {
		if claimed[n] == Fresh {
			fresh = append(fresh, i.message)
		}
	}
	if len(fresh) == 0 {
		return claimed, nil, nil
	}
	err = s.handler(ctx, tx, fresh)
	if err != nil && tx.Conn().IsClosed() {
		// Whatever the handler made of it, perhaps a rejection: a connection that
		// broke is no message's fault.
		return nil, nil, errors.New("the connection broke under the handler: " + err.Error())
	}
	return claimed, fresh, err
}

// publish sends the refused items to the dead letters, except those behind an item
// that waits: they come back with it.
func (s *step) publish(ctx context.Context, letters *DeadLetters) error {
	ctx, cancel := context.WithTimeout(ctx, lettersWait)
	defer cancel()
	var items []*item
	var refusals []Refused
	for _, partition := range s.stretches {
		for _, i := range partition.before(waiting) {
			if i.fate == refused {
				items = append(items, i)
				refusals = append(refusals, i.refusal)
			}
		}
	}
	if err := letters.Publish(ctx, refusals); err != nil {
		return err
	}
	for _, i := range items {
		i.fate = settled
		s.log.Warn("consumer refused a message", zap.String("reason", string(i.refusal.Reason)),
			zap.Int32("partition", i.record.Partition), zap.Int64("offset", i.record.Offset))
	}
	return nil
}

// advance marks each partition up to its first item that is not settled, and lets
// the next poll begin there.
func (s *step) advance(client *kgo.Client) {
	back := make(map[int32]kgo.EpochOffset)
	for number, partition := range s.stretches {
		done := partition.before(waiting).before(refused)
		if len(done) > 0 {
			client.MarkCommitRecords(done[len(done)-1].record)
		}
		if len(done) < len(partition) {
			next := partition[len(done)].record
			back[number] = kgo.EpochOffset{Epoch: next.LeaderEpoch, Offset: next.Offset}
		}
	}
	if len(back) > 0 {
		client.SetOffsets(map[string]map[int32]kgo.EpochOffset{s.config.Topic: back})
	}
}

// absent marks the error of getting no transaction at all, which no message can be
// the cause of.
type absent struct{ error }

func (a absent) Unwrap() error { return a.error }

func isAbsent(err error) bool { return errors.As(err, new(absent)) }

// outlive returns a context that ends a while after ctx does, so that a step is
// finished rather than torn.
func outlive(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(wait, cancel) })
	return longer, func() { stop(); cancel() }
}
