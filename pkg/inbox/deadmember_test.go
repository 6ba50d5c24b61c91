package inbox_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestE3_AMemberThatDiedHoldsNobodyElse(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 12, 200
	b := newBench(t, testkit.NewFakeBroker(t))
	first := b.start("group", b.db.App, record)
	var line cable
	b.broker.Client(t, kgo.ConsumerGroup(b.group("group")), kgo.ConsumeTopics(b.broker.Topics.Events), kgo.Dialer(line.dial),
		kgo.SessionTimeout(4*signalWait))
	_, err := b.broker.Fake.WaitGroupStable(t.Context(), b.group("group"), 2)
	require.NoError(t, err)

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
