package worker_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/payment"
)

// slowDesk has a provider that answers charges when it is told to, and a second worker
// whose commits can be cut off from their answers.
type slowDesk struct {
	*rig.Rig
	arrived chan struct{}
	answer  func() // from now on
	commits *testkit.Commits
	unlucky *worker.Worker
}

func newSlowDesk(t *testing.T) *slowDesk {
	t.Helper()
	sim, err := pspsim.New(pspsim.Options{Seed: 1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sim.Close()) })
	told := make(chan struct{})
	d := &slowDesk{arrived: make(chan struct{}, 10), answer: sync.OnceFunc(func() { close(told) })}
	slow := http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Method == http.MethodPost && strings.Contains(q.URL.Path, "charge") {
			d.arrived <- struct{}{}
			<-told
		}
		sim.ServeHTTP(w, q)
	})
	d.Rig = rig.New(t, rig.Options{Provider: slow, Timeout: rig.Patience})
	t.Cleanup(d.answer) // also when the test fails: everyone waits for it
	d.Sim = sim
	d.commits = testkit.NewCommits(t, d.DB.App)
	d.unlucky, err = worker.New(worker.Config{
		Name: "unlucky", Accounts: map[string]provider.Connector{fixture.Account: d.Connector},
		Lease: d.Connector.Capabilities().AttemptTimeout() + worker.SendAllowance + time.Second,
	}, d.commits.Pool, d.Applier, zaptest.NewLogger(t))
	require.NoError(t, err)
	return d
}

// holdKey keeps everyone from applying words about a payment, until it is released.
func (d *slowDesk) holdKey(t *testing.T, p operation.NewPayment) (release func()) {
	t.Helper()
	tx, err := d.DB.App.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM idempotency_key WHERE resource_id = $1 FOR UPDATE", p.PaymentID)
	require.NoError(t, err)
	return func() { require.NoError(t, tx.Rollback(context.WithoutCancel(t.Context()))) }
}

// claimAndSend lets the rig's worker claim what is due, as soon as PostgreSQL has ended
// the transaction of a connection that broke, and waits until its request is under way.
func (d *slowDesk) claimAndSend(t *testing.T) {
	t.Helper()
	require.Eventually(t, func() bool {
		launched, err := d.Worker.ScheduleOnce(t.Context())
		return err == nil && launched == 1
	}, rig.Patience, 10*time.Millisecond)
	<-d.arrived
}

// due accepts a payment whose first attempt can be claimed.
func due(t *testing.T, r *rig.Rig) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	return p
}

// dueAgain accepts a payment whose first attempt learned nothing, and orders a resend.
func dueAgain(t *testing.T, r *rig.Rig) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	claim := operation.Claim{
		Worker: "first", Lease: time.Minute, Served: []operation.Served{{Account: fixture.Account, Recipe: r.Connector.Recipe()}},
	}
	var attempts []operation.Attempt
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) (err error) {
		attempts, err = claim.Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
		return err
	}))
	o := outcome.Outcome{PaymentID: p.PaymentID, ClaimID: attempts[0].ClaimID}
	o.Learned = outcome.Learned(p.OperationID, evidence.Answer, provider.Answer{}, attempts[0].ClaimedAt)
	o.Learned.Fence = attempts[0].Fence
	_, err := r.Applier.Do(t.Context(), o)
	require.NoError(t, err)
	ordered, err := operation.OrderResend(t.Context(), r.DB.App, operation.Stand{OperationID: p.OperationID, Fence: attempts[0].Fence})
	require.NoError(t, err)
	require.True(t, ordered)
	return p
}

// The commit of a claim is lost, so its worker says that nothing was sent. Until that is
// applied another worker has claimed at the same fence, and its request is on the wire.
func TestP1_P3_NotSentOfAClaimThatNeverWasIsNoWordAboutTheNextOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		due   func(*testing.T, *rig.Rig) operation.NewPayment
		state payment.OperationState
	}{
		"the first attempt": {due, payment.OperationProcessing},
		"a resend":          {dueAgain, payment.OperationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSlowDesk(t)
			p := c.due(t, d.Rig)
			release := d.holdKey(t, p)
			d.commits.LoseCommit()
			_, err := d.unlucky.ScheduleOnce(t.Context())
			require.Error(t, err)
			d.claimAndSend(t)
			_, fence, _ := d.Operation(p)

			release()
			drain(t, d.unlucky) // it has said what it has to say
			state, after, _ := d.Operation(p)
			require.Equal(t, c.state, state)
			require.Equal(t, fence, after)
			require.Zero(t, d.Count("SELECT count(*) FROM attempt WHERE not_sent"), "its request is on the wire")
			require.Equal(t, 1, d.Count("SELECT count(*) FROM operation WHERE lease_until IS NOT NULL"))

			d.answer()
			drain(t, d.Worker)
			state, _, _ = d.Operation(p)
			require.Equal(t, payment.OperationSucceeded, state)
			charged, sends := d.Charged(p)
			require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
		})
	}
}

// The commit of a claim happened, and its answer is lost: nothing is sent, and nobody
// waits for the lease's end to try again.
func TestP2_AClaimThatCommittedWithoutAnAnswerIsDisowned(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		due   func(*testing.T, *rig.Rig) operation.NewPayment
		state payment.OperationState
	}{
		"the first attempt": {due, payment.OperationCreated},
		"a resend":          {dueAgain, payment.OperationUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newSlowDesk(t)
			p := c.due(t, d.Rig)
			d.commits.LoseAnswer()
			_, err := d.unlucky.ScheduleOnce(t.Context())
			require.Error(t, err)
			drain(t, d.unlucky)
			state, _, _ := d.Operation(p)
			require.Equal(t, c.state, state)
			require.Equal(t, 1, d.Count("SELECT count(*) FROM attempt WHERE not_sent"))
			require.Zero(t, d.Count("SELECT count(*) FROM operation WHERE lease_until IS NOT NULL"))
			_, sends := d.Charged(p)
			require.Zero(t, sends)
		})
	}
}

// One process is enough: a group of messages fails on the one that cannot be parked, and
// the others are claimed at once, at the fences that the group had.
func TestP1_P3_AGroupThatFailsSaysNothingAboutTheClaimsThatFollow(t *testing.T) {
	t.Parallel()
	d, b := newSlowDesk(t), testkit.NewFakeBroker(t)
	claimed, parked := fixture.Accept(t, d.DB.App), fixture.Accept(t, d.DB.App, fixture.WithAccount("not-served"))
	release := d.holdKey(t, claimed)
	holder, err := d.DB.App.Begin(t.Context())
	require.NoError(t, err)
	_, err = operation.Lock(t.Context(), holder, []uuid.UUID{parked.OperationID})
	require.NoError(t, err)
	publish(t, b, record(t, b, claimed), record(t, b, parked))
	d.StartConsumer(b)
	<-d.arrived
	require.NoError(t, holder.Rollback(t.Context()))
	awaitCommitted(t, b, 2)
	release()
	d.answer()
	d.AwaitState([]operation.NewPayment{claimed}, payment.StateCaptured)
	drain(t, d.Worker)
	require.Equal(t, 1, d.Count("SELECT count(*) FROM attempt WHERE NOT not_sent AND finished_at IS NOT NULL"))
	require.Equal(t, 1, d.Count("SELECT count(*) FROM evidence"), "the answer, and no other word")
	charged, sends := d.Charged(claimed)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}
