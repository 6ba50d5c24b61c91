// Package kafkadoor takes payments on from commands in Kafka.
//
//	PREFIX.intake.MERCHANT ──Door──> accept ──> PREFIX.intake-replies.MERCHANT
//	                          └────> dead letters: what is no command, whole
//
// The rules, the keys and the refusals are those of the HTTP door. Its promise: each
// command of a merchant is answered, in the order of its partition, and a command that
// is delivered again is the same request again. The merchant is whose topic it is,
// which the brokers guard; no header says so. An offset is committed only after the
// broker has acknowledged the answer, so that a crash at any moment repeats answers
// and loses none.
//
// What keeps one partition waiting (a key that another transaction holds, a topic for
// replies that is missing) leaves the others alone.
package kafkadoor

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/pkg/event"
)

// consumer is the door's name in dead letters, and after the prefix that of its
// consumer group.
const consumer = "intake-door"

const (
	// pollRecordsMax bounds what a step has in hand.
	pollRecordsMax = 1024
	// fetchBytesMax bounds one answer of a broker, and with it the memory.
	fetchBytesMax = 16 << 20
	// discoverWait is how late a new merchant's topic is noticed, at most.
	discoverWait = 10 * time.Second
	// sessionWait is how long the partitions of a process that died stand still.
	sessionWait = 10 * time.Second
	heartbeat   = 2 * time.Second
	// rebalanceWait is Kafka's patience with a process that is at work when the group
	// changes. It is far above what a step can take.
	rebalanceWait = 60 * time.Second
	// commitInterval is between two commits of what is marked. A crash repeats the
	// answers of one interval.
	commitInterval = time.Second
	// commitWait bounds a commit of offsets. Giving it up is cheap: repeats.
	commitWait = 5 * time.Second
	// stopWait bounds how long Run tries to leave the group in good order.
	stopWait = 5 * time.Second
)

// Config is what a door stands on, beside its database.
type Config struct {
	Brokers     []string
	TopicPrefix string
	Source      string // event.Source(cell), in the answers
	Log         *zap.Logger
}

// Door answers the commands of all merchants. Its Run may be called once.
type Door struct {
	Config
	pool      *pgxpool.Pool
	committer *accept.Committer
	options   []kgo.Opt
	merchants *merchants
	holds     holds
	replies   known // topics that are there
	forgeable known // topics whose timestamps are the senders'
	lost      known // partitions of which records are gone
	owed      owed
}

// New returns a door. The committer's Run must be running while the door's is. The
// options are for the connection to Kafka; what the promises rest on cannot be changed
// by them.
func New(c Config, pool *pgxpool.Pool, committer *accept.Committer, options ...kgo.Opt) *Door {
	return &Door{
		Config: c, pool: pool, committer: committer, options: options,
		merchants: newMerchants(pool), holds: newHolds(), owed: owed{},
	}
}

// Run answers commands until ctx ends; then it finishes what it has in hand and leaves
// the group. It returns an error only when it cannot begin: trouble with Kafka or the
// database is logged and waited out.
func (d *Door) Run(ctx context.Context) error {
	client, err := kgo.NewClient(d.clientOptions()...)
	if err != nil {
		return fmt.Errorf("opening the Kafka door: %w", err)
	}
	defer leave(client)
	d.serve(ctx, client)
	return nil
}

// clientOptions puts ours last, so that they win.
func (d *Door) clientOptions() []kgo.Opt {
	ours := []kgo.Opt{
		kgo.SeedBrokers(d.Brokers...),
		kgo.ConsumerGroup(Group(d.TopicPrefix)),
		kgo.ConsumeRegex(),
		kgo.ConsumeTopics(event.DoorPattern(d.TopicPrefix)),
		kgo.MetadataMaxAge(discoverWait),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.FetchMaxBytes(fetchBytesMax),
		// A topic that the group has not read is read from its beginning. Where the
		// group's place is gone, commands were lost, and no guess of ours can tell which.
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		// A partition cannot go to another process while a step works on it, and only
		// what a step has marked is ever committed.
		kgo.BlockRebalanceOnPoll(),
		kgo.RebalanceTimeout(rebalanceWait),
		kgo.SessionTimeout(sessionWait),
		kgo.HeartbeatInterval(heartbeat),
		kgo.AutoCommitMarks(),
		kgo.AutoCommitInterval(commitInterval),
		kgo.OnPartitionsRevoked(d.revoked),
		kgo.OnPartitionsLost(func(_ context.Context, client *kgo.Client, lost map[string][]int32) { d.holds.forget(client, lost) }),
	}
	return slices.Concat(d.options, kafka.Producer(), ours)
}

// Group is the door's consumer group.
func Group(prefix string) string { return prefix + "-" + consumer }

// revoked makes the group's offsets follow what is marked before partitions go to
// another process. A paused partition would stay paused when it comes back.
func (d *Door) revoked(ctx context.Context, client *kgo.Client, lost map[string][]int32) {
	d.holds.forget(client, lost)
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	if err := client.CommitMarkedOffsets(ctx); err != nil {
		d.Log.Warn("the Kafka door could not commit its offsets", zap.Error(err))
	}
}

// leave ends the client, which leaves the group and so commits what is marked. When
// the broker does not answer, the group finds out by itself, and the client ends later,
// after Run.
//
// Close alone: to leave the group first and to close then is to leave it twice, and the
// client takes its fetch sessions down from both at once.
func leave(client *kgo.Client) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		client.CloseAllowingRebalance()
	}()
	timer := time.NewTimer(stopWait)
	defer timer.Stop()
	select {
	case <-closed:
	case <-timer.C:
	}
}

// known is a set of names that several partitions' work looks at.
type known struct {
	mu    sync.Mutex
	names map[string]bool
}

// add reports whether the name is new.
func (k *known) add(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names[name] {
		return false
	}
	if k.names == nil {
		k.names = map[string]bool{}
	}
	k.names[name] = true
	return true
}

func (k *known) has(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.names[name]
}

func (k *known) remove(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.names, name)
}
