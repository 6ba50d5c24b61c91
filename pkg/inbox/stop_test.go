package inbox_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/inbox"
)

func TestE3_AStopFinishesTheStepInHand(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(1)
	b.publish(records...)
	inside, goOn := make(chan struct{}), make(chan struct{})
	r := b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
		close(inside)
		<-goOn
		return record(ctx, tx, messages)
	})
	await(t, inside)
	r.cancel()
	select {
	case err := <-r.result:
		require.Fail(t, "Run returned before its step was done", "%v", err)
	default:
	}
	close(goOn)
	require.NoError(t, r.wait())
	require.Equal(t, ids(records...), b.effects())
	behind, err := b.behind("group")
	require.NoError(t, err)
	require.Zero(t, behind)
}

func TestE3_AStopDoesNotWaitForAHandlerForEver(t *testing.T) {
	t.Parallel()
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(1)
	b.publish(records...)
	inside := make(chan struct{})
	r := b.start("group", b.db.App, func(ctx context.Context, _ pgx.Tx, _ []inbox.Received) error {
		close(inside)
		<-ctx.Done()
		return ctx.Err()
	})
	await(t, inside)
	require.NoError(t, r.stop())
	b.start("group", b.db.App, record)
	b.awaitGroup("group")
	require.Equal(t, ids(records...), b.effects())
}

func TestE3_AStopDoesNotWaitForTheBroker(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(*kfake.Cluster){
		"gone": (*kfake.Cluster).Close,
		"silent": func(c *kfake.Cluster) {
			c.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				return nil, nil, true
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, testkit.NewFakeBroker(t))
			b.publish(b.newRecords(1)...)
			inside, goOn := make(chan struct{}), make(chan struct{})
			r := b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
				close(inside)
				<-goOn
				return record(ctx, tx, messages)
			})
			await(t, inside)
			fail(b.broker.Fake)
			close(goOn)
			r.cancel()
			require.NoError(t, await(t, r.result))
			r.result <- nil // for the cleanup
			require.Len(t, b.effects(), 1)
		})
	}
}

// Consumers come, go, and are thrown out of the group in the middle of their work,
// while messages arrive.
func TestE3_ARebalanceLosesNothingAndRepeatsNoEffect(t *testing.T) {
	t.Parallel()
	const rounds, perRound = 5, 600
	b := newBench(t, testkit.NewFakeBroker(t))
	records := b.newRecords(rounds * 2 * perRound)
	rest := records
	publish := func() {
		b.publish(rest[:perRound]...)
		rest = rest[perRound:]
	}
	b.start("group", b.db.App, record)
	for range rounds {
		publish()
		took, once := make(chan struct{}), atomic.Bool{}
		guest := b.start("group", b.db.App, func(ctx context.Context, tx pgx.Tx, messages []inbox.Received) error {
			if once.CompareAndSwap(false, true) {
				close(took)
			}
			return record(ctx, tx, messages)
		})
		b.awaitShares("group", 2)
		publish()
		await(t, took)
		thrownOut := b.broker.Fake.Fault(kfake.Fault{
			Keys: []kmsg.Key{kmsg.Heartbeat}, Group: b.group("group"), Err: kerr.UnknownMemberID, TopLevel: true, Count: 1,
		})
		require.NoError(t, thrownOut.Wait(t.Context(), 1))
		require.NoError(t, guest.stop())
	}
	b.awaitGroup("group")
	require.ElementsMatch(t, ids(records...), b.effects())
	require.Empty(t, b.deadLetters())
}
