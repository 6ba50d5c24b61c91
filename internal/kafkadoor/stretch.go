package kafkadoor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/inbox"
)

const (
	// answerWait bounds one command, from its record to the commit. It is above
	// accept's own bounds.
	answerWait = 10 * time.Second
	// triesMax is how often a command is tried again that fails for a reason that this
	// door does not know, over about a quarter of a minute. Then it is answered as
	// failed, and kept in the dead letters: a fault of ours in one command must not hold
	// the others for ever.
	triesMax = 9
)

// Errors that hold a partition until somebody has created what is missing.
var (
	errNoMerchant = errors.New("the topic's merchant does not exist in this database")
	errNoReplies  = errors.New("the topic for its answers does not exist: run `payctl topics create --merchant ID`")
)

// stretch is what a step has of one partition, in its order.
type stretch struct {
	door    *Door
	client  *kgo.Client
	letters *inbox.DeadLetters
	place   place
	records []*kgo.Record

	merchant merchant.Merchant
	replies  string         // the topic of the answers
	acks     []<-chan error // of the answers to the records, in their order
	err      error          // why the next record has no answer
}

// work answers commands one after the other until one of them fails, the time is over,
// or the process shall stop.
func (s *stretch) work(ctx context.Context, until time.Time) {
	if s.err != nil || ctx.Err() != nil || time.Now().After(until) {
		return
	}
	if s.err = s.prepare(ctx); s.err != nil {
		return
	}
	for _, r := range s.records {
		if ctx.Err() != nil || time.Now().After(until) {
			return
		}
		ack, err := s.serve(context.WithoutCancel(ctx), r)
		if err != nil {
			s.err = err
			return
		}
		s.acks = append(s.acks, ack)
	}
}

// prepare finds who asks and where the answers go. Nothing is accepted that could not
// be answered.
func (s *stretch) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stepWait)
	defer cancel()
	id, err := event.DoorMerchant(s.door.TopicPrefix, s.place.topic)
	if err != nil {
		return err
	}
	s.replies = event.DoorTopicsOf(s.door.TopicPrefix, id).Replies
	if s.merchant, err = s.door.merchants.find(ctx, id); err != nil {
		if errors.Is(err, merchant.ErrUnknownMerchant) {
			return fmt.Errorf("%s: %w", s.place.topic, errNoMerchant)
		}
		return err
	}
	if s.door.replies.has(s.replies) {
		return nil
	}
	missing, err := kafka.MissingTopics(ctx, s.client, s.replies)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: %w", s.replies, errNoReplies)
	}
	s.door.replies.add(s.replies)
	return nil
}

// serve answers one record and returns where the broker's acknowledgement comes. The
// answer is made before anything is published: one that cannot be made must not leave
// another dead letter with each try.
func (s *stretch) serve(ctx context.Context, r *kgo.Record) (<-chan error, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	s.watchTimestamps(r)
	answer, refusal, err := s.answer(ctx, r)
	if err != nil {
		return nil, err
	}
	if refusal != nil && refusal.reason != "" {
		letter := inbox.Refused{Record: r, Reason: refusal.reason, Detail: refusal.detail}
		if err := s.letters.Publish(ctx, []inbox.Refused{letter}); err != nil && !s.tooLarge(err, r) {
			return nil, err
		}
		s.logOf(r).Warn("a record at the Kafka door is refused", zap.String("reason", string(refusal.reason)))
	}
	ack := make(chan error, 1)
	if answer == nil {
		close(ack)
		return ack, nil
	}
	// Never canceled: see kafka.Producer.
	s.client.Produce(context.WithoutCancel(ctx), answer, func(_ *kgo.Record, err error) {
		ack <- err
		close(ack)
	})
	return ack, nil
}

// tooLarge reports whether a record cannot be passed on because a broker would not take
// it: with a key that alone fills a message. It stays where it is, and holds nobody.
// Topics that payctl has made take no such record.
func (s *stretch) tooLarge(err error, r *kgo.Record) bool {
	if !errors.Is(err, kerr.MessageTooLarge) {
		return false
	}
	s.logOf(r).Error("a record is too large to be answered or kept in the dead letters, and is passed over")
	return true
}

// logOf says of which record the door speaks.
func (s *stretch) logOf(r *kgo.Record) *zap.Logger {
	return s.door.Log.With(zap.String("topic", r.Topic), zap.Int32("partition", r.Partition), zap.Int64("offset", r.Offset))
}

// answer is the record that the sender gets, and what is wrong with the command. No
// answer is for nobody. An error means that the command must come back.
func (s *stretch) answer(ctx context.Context, r *kgo.Record) (*kgo.Record, *refused, error) {
	e := open(r) //nolint:contextcheck // a trace context is read from a header, nothing is waited for
	answer, refusal, err := s.judge(ctx, e, r)
	if err == nil && answer == nil {
		return nil, refusal, nil
	}
	var record *kgo.Record
	if err == nil {
		record, err = s.door.record(r, e.carried, s.replies, *answer)
	}
	switch {
	case err == nil:
		return record, refusal, nil
	case mayPass(err):
		return nil, nil, err
	case s.door.holds.faults(s.place, r.Offset) < triesMax:
		return nil, nil, fault{err}
	}
	return s.giveUp(e, r, err)
}

// giveUp answers a command that fails again and again by itself. An earlier delivery
// of it may have committed before its answer was lost, so nothing is said about what is
// stored.
func (s *stretch) giveUp(e envelope, r *kgo.Record, cause error) (*kgo.Record, *refused, error) {
	s.logOf(r).Error("a command fails for a reason that is not known, and is given up", zap.Error(cause))
	unknown := problem.OutcomeUnknown.Failure("Send the same command with the same key again: it is not done twice. " +
		"Or ask GET /v1/payments?invoiceId=… what became of it. Do not take a new key.")
	record, err := s.door.record(r, e.carried, s.replies, rejected(unknown))
	return record, &refused{reason: inbox.ReasonRejected, detail: unknown.Title}, err
}

// judge finds the answer to a record. An error is why there is none yet.
func (s *stretch) judge(ctx context.Context, e envelope, r *kgo.Record) (*reply, *refused, error) {
	if refusal := e.check(len(r.Key)); refusal != nil {
		if refusal.problem == nil {
			return nil, refusal, nil
		}
		return new(rejected(refusal.problem)), refusal, nil
	}
	answer, err := s.accept(ctx, e, r)
	if err == nil {
		return &answer, nil, nil
	}
	if failure := problem.Explain(err); !mayPass(err) && !failure.Of(problem.InternalError) {
		return new(rejected(failure)), nil, nil
	}
	return nil, nil, err
}

// fault is an error of a command that nobody knows a reason for.
type fault struct{ error }

func (f fault) Unwrap() error { return f.error }

// mayPass reports whether the trouble is not the command's: it is tried again for as
// long as it takes.
func mayPass(err error) bool {
	return errors.Is(err, accept.ErrBusy) || errors.Is(err, accept.ErrUnavailable) || postgres.IsUnanswered(err) || postgres.IsOfServer(err)
}

// accept takes a command on, as the HTTP door takes a request.
func (s *stretch) accept(ctx context.Context, e envelope, r *kgo.Record) (reply, error) {
	command, err := e.command(r)
	if err != nil {
		return reply{}, err
	}
	command.From(s.merchant)
	request, err := command.Validate() //nolint:contextcheck // a trace context is read from a header, nothing is waited for
	if err != nil {
		return reply{}, explainKey(err)
	}
	result, err := s.door.committer.Accept(ctx, request)
	if err != nil {
		return reply{}, err
	}
	switch result.Outcome {
	case accept.OutcomeAccepted, accept.OutcomeReplayed:
		return accepted(result)
	case accept.OutcomeExpired:
		return reply{}, expired(result)
	default:
		return reply{}, problem.Refusal(result)
	}
}

// expired says as over HTTP that nobody knows whether the command is a repeat: its
// payment may have been captured long ago.
func expired(result accept.Result) *problem.Error {
	f := problem.CommandExpired.Failure("The command or its key is so old that an answer to it may be stored no more. Ask GET /v1/payments?invoiceId=…, " +
		"or look for the events of its payment, what became of it. Only if it was never carried out, send it with a new key.")
	f.Payment = result.Holder()
	return f
}

// explainKey names the key's own errors; other errors pass.
func explainKey(err error) error {
	if _, isField := errors.AsType[*accept.InvalidError](err); isField {
		return err
	}
	return problem.KeyMalformed.Failure("In " + event.HeaderID + ": " + err.Error() + ". Send 1 to 255 visible ASCII characters.")
}

// watchTimestamps warns of a topic whose senders can make their commands look young.
func (s *stretch) watchTimestamps(r *kgo.Record) {
	const createTime = 0
	if r.Attrs.TimestampType() == createTime && s.door.forgeable.add(r.Topic) {
		s.door.Log.Warn("the topic's senders set the time of their commands, and can repeat one that nobody remembers: "+
			"set message.timestamp.type=LogAppendTime", zap.String("topic", r.Topic))
	}
}

// advance marks what is answered and acknowledged. It returns why the partition waits.
func (s *stretch) advance(ctx context.Context) error {
	done := 0
	for i, ack := range s.acks {
		if err := s.await(ctx, ack); err != nil && !s.tooLarge(err, s.records[i]) {
			s.err = err
			break
		}
		done++
	}
	s.door.owed.add(s.place, s.acks[done:])
	if done > 0 {
		s.client.MarkCommitRecords(s.records[done-1])
	}
	if done == len(s.records) {
		s.door.holds.drop(s.place)
		return nil
	}
	next := s.records[done]
	s.client.SetOffsets(map[string]map[int32]kgo.EpochOffset{
		s.place.topic: {s.place.partition: {Epoch: next.LeaderEpoch, Offset: next.Offset}},
	})
	if s.err != nil {
		s.door.holds.put(s.client, s.place, next.Offset, errors.As(s.err, &fault{}))
	}
	return s.err
}

// await returns what became of an answer, or why that is not known yet. An answer that
// is acknowledged counts, also when the time is over.
func (s *stretch) await(ctx context.Context, ack <-chan error) error {
	select {
	case err := <-ack:
		return s.acknowledged(err)
	default:
	}
	select {
	case err := <-ack:
		return s.acknowledged(err)
	case <-ctx.Done():
		return fmt.Errorf("waiting for the answers on %s: %w", s.replies, context.Cause(ctx))
	}
}

func (s *stretch) acknowledged(err error) error {
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		s.door.replies.remove(s.replies)
	}
	if err != nil {
		return fmt.Errorf("answering on %s: %w", s.replies, err)
	}
	return nil
}
