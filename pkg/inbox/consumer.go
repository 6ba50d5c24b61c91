package inbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/pkg/event"
)

const (
	// groupRecordsMax bounds what one transaction handles, and what is redone when
	// it fails.
	groupRecordsMax = 500
	// fetchBytesMax bounds one answer of a broker, and with it the memory.
	fetchBytesMax = 16 << 20
	// letterBatchBytesMax leaves room for a dead letter around a record of Kafka's
	// default maximum, 1 MiB.
	letterBatchBytesMax = 2 << 20

	// sessionWait is how long the partitions of a member that died stand still. A
	// member that is only slow beats all the same, from a goroutine of its own; one
	// that is thrown out by mistake repeats messages, which changes nothing.
	sessionWait = 10 * time.Second
	heartbeat   = 2 * time.Second
	// rebalanceWait is Kafka's patience with a member that is at work when the
	// group changes.
	rebalanceWait = 60 * time.Second
	// stepWait bounds a step, during which no rebalance can happen. Half of
	// rebalanceWait leaves room for the dead letters and the offsets.
	stepWait = rebalanceWait / 2
	// groupWait is the share of a step that a group may take; the rest is for its
	// messages one by one, so that every step gets somewhere.
	groupWait = stepWait / 2
	// lettersWait bounds the wait for the dead letters of a step.
	lettersWait = 10 * time.Second
	// commitInterval is between two commits of what is marked, in the background:
	// while the group waits for a member that died, a commit waits too, and no step
	// shall wait with it. A crash repeats the messages of one interval.
	commitInterval = time.Second
	// commitWait bounds a commit of offsets. Giving it up is cheap: repeats.
	commitWait = 5 * time.Second
	// stopWait bounds how long Run goes on with the step in hand once it shall
	// stop, and then how long it tries to leave the group in good order.
	stopWait = 5 * time.Second

	// pauseMin and pauseMax bound the pauses between attempts while something
	// fails: short enough for a lock conflict, long enough for a database that is
	// down for hours.
	pauseMin = 50 * time.Millisecond
	pauseMax = 5 * time.Second
)

// Handler applies messages in tx, all of them or, by an error, none. They are in
// the order of their partitions, and Claim has found them fresh. Everything that
// must happen once has to happen through tx. See Reject for errors.
type Handler func(ctx context.Context, tx pgx.Tx, messages []Received) error

// Config says what a Consumer reads, and as whom.
type Config struct {
	// Name is the consumer's name in processed_message. Under another name every
	// message is new again: it never changes.
	Name string
	// Group is the Kafka consumer group. A new group starts at the beginning of the
	// topic; with the same Name it changes nothing that was done.
	Group string
	// Brokers are the addresses to start from.
	Brokers []string
	// Topic is read, DeadLetters gets what is refused.
	Topic, DeadLetters string
	// Types are the event types that the handler gets. Another version of one of
	// them goes to the dead letters; every other type is passed over without a trace.
	Types []event.Type
	// Committed is called, when it is not nil, after each transaction in which the
	// handler got messages, with those messages and before anything else is
	// handled: the place to start what may only follow a commit. It is not called
	// for a transaction that failed, and not again after a crash.
	Committed func(ctx context.Context, messages []Received)
	// Aborted is called, when it is not nil, after each transaction that failed or
	// whose commit was not answered, whether the handler was called in it or not: the
	// place to give back what it took. The messages come again, fresh or as repeats.
	//
	// inDoubt says that the commit was asked for and not answered: it may have happened.
	// Else nothing of the transaction did, and nothing will.
	Aborted func(ctx context.Context, inDoubt bool)
	// Log is told of refusals and trouble. nil: nobody is.
	Log *zap.Logger
}

// Consumer reads a topic in a consumer group and handles each message once.
type Consumer struct {
	config   Config
	pool     *pgxpool.Pool
	handler  Handler
	interest interest
	options  []kgo.Opt
	log      *zap.Logger
}

// NewConsumer checks the configuration; it does not connect. The options are for
// the connection to Kafka (TLS, SASL, logging); what the package's promises rest
// on cannot be changed by them.
func NewConsumer(config Config, pool *pgxpool.Pool, handler Handler, options ...kgo.Opt) (*Consumer, error) {
	for _, field := range []struct {
		name    string
		missing bool
	}{
		{"Name", config.Name == ""},
		{"Group", config.Group == ""},
		{"Brokers", len(config.Brokers) == 0},
		{"Topic", config.Topic == ""},
		{"DeadLetters", config.DeadLetters == ""},
		{"Types", len(config.Types) == 0},
	} {
		if field.missing {
			return nil, fmt.Errorf("inbox consumer %q: %s is missing", config.Name, field.name)
		}
	}
	log := config.Log
	if log == nil {
		log = zap.NewNop()
	}
	return &Consumer{
		config: config, pool: pool, handler: handler, options: options,
		interest: interestIn(config.Types), log: log.With(zap.String("consumer", config.Name)),
	}, nil
}

// Run consumes until ctx ends; then it finishes the step in hand, leaves the group
// and returns nil. It returns an error when Kafka has lost records that the group
// had not read, or the place where it was: someone has to look what is missing
// before the group's offsets are set again. Trouble that may pass, with Kafka or
// the database, is logged and waited out.
func (c *Consumer) Run(ctx context.Context) error {
	client, err := kgo.NewClient(c.clientOptions()...)
	if err != nil {
		return fmt.Errorf("starting the consumer %s: %w", c.config.Name, err)
	}
	defer leave(ctx, client)
	letters := NewDeadLetters(client, c.config.DeadLetters, c.config.Name)
	pause := &backoff.ExponentialBackOff{
		InitialInterval: pauseMin, MaxInterval: pauseMax, Multiplier: 2, RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	for {
		fetches := client.PollRecords(ctx, groupRecordsMax)
		if ctx.Err() != nil {
			return nil // what was fetched comes back: it is not marked
		}
		if err := lost(fetches); err != nil {
			return fmt.Errorf("consuming %s as %s: %w", c.config.Topic, c.config.Name, err)
		}
		err := errors.Join(fetches.Err(), c.step(ctx, client, letters, fetches))
		client.AllowRebalance()
		if err == nil {
			pause.Reset()
			continue
		}
		wait := pause.NextBackOff()
		c.log.Warn("consumer waits", zap.Duration("pause", wait), zap.Error(err))
		if !sleep(ctx, wait) {
			return nil
		}
	}
}

// clientOptions puts ours last, so that they win.
func (c *Consumer) clientOptions() []kgo.Opt {
	return append(slices.Clip(c.options),
		kgo.SeedBrokers(c.config.Brokers...),
		kgo.ConsumerGroup(c.config.Group),
		kgo.ConsumeTopics(c.config.Topic),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetchBytesMax),
		// A group without offsets reads everything that is there. A group whose
		// offset is gone has missed something, and no guess of ours can tell what.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// A partition cannot go to another consumer while a step works on it, and
		// only what a step has marked is ever committed.
		kgo.BlockRebalanceOnPoll(),
		kgo.RebalanceTimeout(rebalanceWait),
		kgo.SessionTimeout(sessionWait),
		kgo.HeartbeatInterval(heartbeat),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(commitInterval),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, _ map[string][]int32) { c.commit(ctx, client) }),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchMaxBytes(letterBatchBytesMax),
		kgo.ProducerLinger(0),
		// Telling the brokers our metrics once more (KIP-714) would only hold up the
		// end of a client whose broker is silent.
		kgo.DisableClientMetrics(),
	)
}

// commit makes the group's offsets follow what is marked before partitions go to
// another member. When it fails that one repeats messages, which changes nothing.
func (c *Consumer) commit(ctx context.Context, client *kgo.Client) {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		c.log.Warn("consumer could not commit its offsets", zap.Error(err))
	}
}

// lost returns the first error that says that records are gone.
func lost(fetches kgo.Fetches) error {
	for _, e := range fetches.Errors() {
		var gone *kgo.ErrDataLoss
		if errors.As(e.Err, &gone) || errors.Is(e.Err, kerr.OffsetOutOfRange) {
			return fmt.Errorf("partition %d: the records at the group's offset are not there any more; "+
				"find out what was missed, then reset the group's offsets: %w", e.Partition, e.Err)
		}
	}
	return nil
}

// leave ends the client. Leaving tells the group at once; when the broker does not
// answer, the group finds out by itself. While the group waits for a member that
// died, the client waits for the group; it then ends later, after Run.
func leave(ctx context.Context, client *kgo.Client) {
	client.AllowRebalance()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = client.LeaveGroupContext(ctx)
		client.Close()
	}()
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// sleep reports whether the time passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
