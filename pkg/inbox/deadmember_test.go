package inbox_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/testkit"
)

// cable connects a client to the broker until it is cut.
type cable struct {
	mu    sync.Mutex
	conns []net.Conn
	gone  bool
}

func (c *cable) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return nil, errors.Join(errors.New("the cable is cut"), conn.Close())
	}
	c.conns = append(c.conns, conn)
	return conn, nil
}

// cut is what the broker sees when a machine loses its power.
func (c *cable) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}

// awaitShares returns once the group is at rest with so many members, each of which
// has partitions. A group is also at rest between the two halves of a rebalance,
// when one member has given up partitions that the other has not got yet.
func (b *bench) awaitShares(group string, members int) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		described, err := b.admin.DescribeGroups(b.t.Context(), b.group(group))
		if err != nil {
			return false
		}
		found := described[b.group(group)]
		if found.State != "Stable" || len(found.Members) != members {
			return false
		}
		return !slices.ContainsFunc(found.Members, func(m kadm.DescribedGroupMember) bool {
			share, ok := m.Assigned.AsConsumer()
			return !ok || len(share.Topics) == 0
		})
	}, signalWait, pollInterval)
}

func TestE3_AMemberThatDiedHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 12, 200
	b := newBench(t, testkit.NewFakeBroker(t))
	// Whoever comes first leads the group, and has all partitions until the next
	// rebalance: it must not be the one that dies, or the other has none to work on.
	first := b.start("group", b.db.App, record)
	b.awaitShares("group", 1)
	var line cable
	b.broker.Client(t, kgo.ConsumerGroup(b.group("group")), kgo.ConsumeTopics(b.broker.Topics.Events), kgo.Dialer(line.dial),
		kgo.SessionTimeout(4*signalWait))
	b.awaitShares("group", 2)

	// As soon as another member comes, the group waits for the dead one until its
	// session ends, and that is after this test. A step that waits with it, for its
	// offsets, takes five seconds.
	line.cut()
	second := b.start("group", b.db.App, record)
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		for range rounds {
			effects := len(b.effects())
			b.publish(b.newRecords(perRound)...)
			assert.Eventually(t, func() bool { return len(b.effects()) >= effects+perRound/4 }, signalWait, pollInterval)
		}
	}()
	await(t, worked)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		assert.NoError(t, errors.Join(first.stop(), second.stop()))
	}()
	await(t, stopped)
}
