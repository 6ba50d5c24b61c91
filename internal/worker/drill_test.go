package worker_test

import (
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/payment"
)

// The drill is scaled down unless it is run by itself, as `make drill` does.
var (
	drillFull   = flag.Bool("drill", false, "the drill with the worker's own pace, on a real Kafka")
	drillOutage = flag.Duration("drill-outage", 6*time.Second, "how long the provider is down")
	drillRate   = flag.Int("drill-rate", 200, "payments per second")
)

const (
	drillSlots  = 32
	drillAround = 2 * time.Second // of load before and after the outage
	drillTick   = 50 * time.Millisecond
)

// drill is one outage under load.
type drill struct {
	*rig.Rig
	t        *testing.T
	front    *front
	broker   testkit.Broker
	pace     worker.Pace
	joins    joins
	payments []operation.NewPayment
}

// joins counts how often a group is joined: each rebalance is one, at least.
type joins struct{ sent *atomic.Int64 }

func (j joins) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, _ kgo.BrokerE2E) {
	if key == joinGroup {
		j.sent.Add(1)
	}
}

var (
	_         kgo.HookBrokerE2E = joins{}
	joinGroup                   = kmsg.NewPtrJoinGroupRequest().Key()
)

func TestW3_AnOutageUnderLoadLosesNothingWhileNobodyListens(t *testing.T) {
	if !*drillFull {
		t.Parallel() // on a real broker both would be in one group
	}
	run(t, closed)
}

func TestW3_AnOutageUnderLoadLosesNothingWhileNobodyAnswers(t *testing.T) {
	if !*drillFull {
		t.Parallel()
	}
	run(t, hang)
}

func run(t *testing.T, down mode) {
	t.Helper()
	d := newDrill(t)
	d.loadFor(drillAround)
	// What a message brought is captured, so the consumer has its partitions.
	require.Eventually(t, func() bool {
		return d.Count("SELECT count(*) FROM payment WHERE state = 'captured'") > 0
	}, rig.Patience, 20*time.Millisecond)
	joined := d.joins.sent.Load()
	require.Positive(t, joined)
	d.front.become(down)
	d.loadFor(*drillOutage)
	d.requireUntouched(joined)
	d.front.become(up)
	back := time.Now()
	d.loadFor(drillAround)
	d.awaitCaptured()
	d.requireSlowReturn(time.Since(back))
	require.Equal(t, joined, d.joins.sent.Load(), "the consumer keeps its assignment to the end")
	requireNoDeadLetters(t, d.broker)
	requireChargedOnce(t, d.front, d.payments)
}

func newDrill(t *testing.T) *drill {
	t.Helper()
	d := &drill{t: t, front: newFront(t, pspsim.Faults{Rates: pspsim.Rates{DelayMS: 5}}), joins: joins{new(atomic.Int64)}}
	o := rig.Options{Address: d.front.url, Slots: drillSlots, Timeout: 5 * time.Second}
	d.broker, d.pace = testkit.NewFakeBroker(t), worker.Pace{Rest: 5 * time.Second, RampWindow: time.Second}
	if *drillFull {
		d.broker = testkit.RealBroker(t)
	} else {
		o.Timeout, d.pace = 500*time.Millisecond, worker.Pace{Rest: 500 * time.Millisecond, RampWindow: 500 * time.Millisecond}
	}
	o.Pace = d.pace
	d.Rig = rig.New(t, o)
	d.StartConsumer(d.broker, kgo.WithHooks(d.joins))
	d.StartScheduler()
	d.StartReconciler()
	return d
}

// loadFor accepts and announces payments at the drill's rate.
func (d *drill) loadFor(length time.Duration) {
	d.t.Helper()
	client := d.broker.Client(d.t)
	tick := time.NewTicker(drillTick)
	defer tick.Stop()
	begun, before := time.Now(), len(d.payments)
	for elapsed := time.Duration(0); elapsed < length; elapsed = time.Since(begun) {
		<-tick.C
		wanted := int(time.Since(begun).Seconds()*float64(*drillRate)) - (len(d.payments) - before)
		if wanted <= 0 {
			continue
		}
		accepted := fixture.AcceptMany(d.t, d.DB.App, wanted)
		records := make([]*kgo.Record, len(accepted))
		for i, p := range accepted {
			records[i] = record(d.t, d.broker, p)
		}
		require.NoError(d.t, client.ProduceSync(d.t.Context(), records...).FirstErr())
		d.payments = append(d.payments, accepted...)
	}
}

// requireUntouched looks at the end of the outage: everything has been taken from
// the partitions and waits in PostgreSQL.
func (d *drill) requireUntouched(joined int64) {
	d.t.Helper()
	awaitCommitted(d.t, d.broker, int64(len(d.payments)))
	require.Zero(d.t, d.Count("SELECT count(*) FROM operation WHERE state = 'failed'"))
	require.Equal(d.t, joined, d.joins.sent.Load(), "the consumer keeps its assignment")
	requireNoDeadLetters(d.t, d.broker)
	groups, err := kadm.NewClient(d.broker.Client(d.t)).DescribeGroups(d.t.Context(), worker.Consumer)
	require.NoError(d.t, err)
	require.Len(d.t, groups[worker.Consumer].Members, 1)
	require.Len(d.t, groups.AssignedPartitions()[d.broker.Topics.Requests], 16)
	waiting := d.Count("SELECT count(*) FROM operation WHERE state = 'created' AND next_attempt_at IS NOT NULL")
	require.Greater(d.t, waiting, len(d.payments)/4)
	d.t.Logf("as the outage ends, of %d payments: %d captured, %d wait to be sent, %d unknown; %d attempts were made, %d of them not sent",
		len(d.payments), d.Count("SELECT count(*) FROM payment WHERE state = 'captured'"), waiting,
		d.Count("SELECT count(*) FROM operation WHERE state = 'unknown'"),
		d.Count("SELECT count(*) FROM attempt"), d.Count("SELECT count(*) FROM attempt WHERE not_sent"))
}

func (d *drill) awaitCaptured() {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		return d.Count("SELECT count(*) FROM payment WHERE state = 'captured'") == len(d.payments)
	}, rig.Patience+2*(*drillOutage), 20*time.Millisecond, "%s", states{d})
	require.Equal(d.t, len(d.payments), d.Count("SELECT count(*) FROM payment WHERE state = $1", payment.StateCaptured))
}

// states reads the payments' states when it is printed, which is after the wait.
type states struct{ d *drill }

func (s states) String() string {
	var text strings.Builder
	for _, state := range []payment.OperationState{payment.OperationCreated, payment.OperationProcessing, payment.OperationUnknown} {
		fmt.Fprintf(&text, "%d %s ", s.d.Count("SELECT count(*) FROM operation WHERE state = $1", state), state)
	}
	return text.String()
}

// requireSlowReturn looks at what arrived since the provider is back.
func (d *drill) requireSlowReturn(took time.Duration) {
	d.t.Helper()
	seen := d.front.look()
	first, early := time.Time{}, 0
	for _, m := range seen.moments {
		if m.method != "POST" {
			continue
		}
		if first.IsZero() {
			first = m.at
		}
		if m.at.Sub(first) < d.pace.RampWindow/2 {
			early = max(early, m.inFlight)
		}
	}
	require.Equal(d.t, "GET", seen.moments[0].method, "a question comes first")
	require.LessOrEqual(d.t, early, 3, "no stampede")
	require.LessOrEqual(d.t, seen.most, drillSlots)
	d.t.Logf("after %s of outage all %d payments were captured within %s of its end; in flight at once: at first %d, at most %d of %d",
		*drillOutage, len(d.payments), took.Round(time.Millisecond), early, seen.most, drillSlots)
}
