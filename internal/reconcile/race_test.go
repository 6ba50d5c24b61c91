package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// sleeper is a worker that claimed and then stood still for longer than its
// lease: what it says, it says late.
type sleeper struct {
	r       *rig.Rig
	payment operation.NewPayment
	attempt operation.Attempt
}

// fellAsleep claims, and moves the clock past the lease.
func fellAsleep(t *testing.T, r *rig.Rig, options ...fixture.Option) sleeper {
	t.Helper()
	s := sleeper{r: r, payment: fixture.Accept(t, r.DB.App, options...)}
	claim := operation.Claim{
		Worker: "sleeper", Lease: time.Second, Allowance: time.Millisecond,
		Served: []operation.Served{{Account: fixture.Account, Recipe: r.Connector.Recipe(), Horizon: time.Hour}},
	}
	r.DueNow(s.payment)
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		attempts, err := claim.ClaimDue(t.Context(), tx, 1)
		require.Len(t, attempts, 1)
		s.attempt = attempts[0]
		return err
	}))
	r.DB.SetNow(t, time.Minute)
	return s
}

// sends makes the request that the worker's lease was for, and returns the answer
// without telling it.
func (s sleeper) sends(t *testing.T) provider.Answer {
	t.Helper()
	op := provider.Operation{
		ID: s.payment.OperationID, Kind: payment.KindCharge, Reference: s.payment.OperationID.String(),
		Amount: s.payment.Amount, PaymentMethod: s.payment.PaymentMethod,
	}
	return s.r.Connector.Send(t.Context(), op, provider.NewStopDeadline(time.Now().Add(rig.Patience)))
}

// tells says what the attempt came to, as a worker does.
func (s sleeper) tells(ctx context.Context, a provider.Answer) error {
	o := outcome.Outcome{
		PaymentID: s.payment.PaymentID, ClaimID: s.attempt.ClaimID, NotSent: a.NotSent,
		Learned: outcome.Learned(s.payment.OperationID, evidence.Answer, a, s.attempt.ClaimedAt),
	}
	o.Learned.Fence = s.attempt.Fence
	_, err := s.r.Applier.Do(ctx, o)
	return err
}

func takeOver(t *testing.T, r *rig.Rig) {
	t.Helper()
	taken, err := r.Reconciler.TakeOver(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, taken)
}

var (
	declined = provider.Answer{Verdict: payment.VerdictDeclined, Reason: "insufficient_funds"}
	notSent  = provider.Answer{NotSent: true, Reason: provider.ReasonNotSent}
)

func TestW2_ALateDeclineOfATakenOverWorkerFailsWhatHadNoOtherAttempt(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	s := fellAsleep(t, r)
	takeOver(t, r)
	require.NoError(t, s.tells(t.Context(), declined))
	state, _, reason := r.Operation(s.payment)
	require.Equal(t, payment.OperationFailed, state)
	require.Equal(t, declined.Reason, reason)
}

func TestW2_ALateNotSentOfATakenOverWorkerIsSentAgainAndChargedOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-bare"}) // nothing but the worker's own trace can help here
	s := fellAsleep(t, r)
	takeOver(t, r)
	require.NoError(t, s.tells(t.Context(), notSent))
	state, _, _ := r.Operation(s.payment)
	require.Equal(t, payment.OperationCreated, state)
	r.DueNow(s.payment)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{s.payment}, payment.StateCaptured)
	charged, sends := r.Charged(s.payment)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

// A resend order stands when the first attempt turns out not to have been sent. The
// order is for a fence that is over then, so nobody can take it besides the due
// list, and the payment is sent once.
func TestU2_ALateNotSentTakesBackTheResendOrderThatStands(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	s := fellAsleep(t, r)
	takeOver(t, r)
	r.DB.SetNow(t, 2*time.Minute)
	lookOnce(t, r)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE resend_fence = fence"), "not found, so an order stands")

	require.NoError(t, s.tells(t.Context(), notSent))
	state, fence, _ := r.Operation(s.payment)
	require.Equal(t, payment.OperationCreated, state)
	require.Equal(t, int64(3), fence, "claim, takeover, and the news that raised it once more")
	require.Zero(t, r.Count("SELECT count(*) FROM operation WHERE resend_fence IS NOT NULL"))
	r.DueNow(s.payment)
	for range 3 {
		_, err := dueOnce(t, r)
		require.NoError(t, err)
	}
	charged, sends := r.Charged(s.payment)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

// A late decline is about its own attempt. While a resend order stands nothing else
// may be sent, and once it has been taken the decline settles nothing.
func TestW2_ALateDeclineSettlesNothingUnderTheHandsOfAResend(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	s := fellAsleep(t, r)
	takeOver(t, r)
	r.DB.SetNow(t, 2*time.Minute)
	lookOnce(t, r)
	again := operation.Claim{
		Worker: "second", Lease: time.Minute,
		Served: []operation.Served{{Account: fixture.Account, Recipe: r.Connector.Recipe(), Horizon: time.Hour}},
	}
	var resend operation.Attempt
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		attempts, err := again.ClaimDue(t.Context(), tx, 1)
		require.Len(t, attempts, 1)
		resend = attempts[0]
		return err
	}))
	require.NoError(t, s.tells(t.Context(), declined))
	state, _, _ := r.Operation(s.payment)
	require.Equal(t, payment.OperationUnknown, state, "the resend is under way")

	s.attempt = resend
	require.NoError(t, s.tells(t.Context(), s.sends(t)))
	state, _, _ = r.Operation(s.payment)
	require.Equal(t, payment.OperationSucceeded, state)
	charged, _ := r.Charged(s.payment)
	require.Equal(t, 1, charged)
}

func lookOnce(t *testing.T, r *rig.Rig) {
	t.Helper()
	looked, err := r.Reconciler.Look(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, looked)
}

// Takeover, look and the late answer start at the same instant, many times over.
// Whichever wins, each payment ends where the provider's books are.
func TestP1_W2_TheReconcilerRacesTheWorkersLateAnswer(t *testing.T) {
	t.Parallel()
	sends := func(t *testing.T, s sleeper) provider.Answer { return s.sends(t) }
	says := func(*testing.T, sleeper) provider.Answer { return notSent }
	for name, race := range map[string]struct {
		method string
		answer func(*testing.T, sleeper) provider.Answer
		want   payment.OperationState
		holds  int
	}{
		"captured": {"tok_visa", sends, payment.OperationSucceeded, 1},
		"declined": {"tok_decline", sends, payment.OperationFailed, 0},
		// It goes back to created, or the look has ordered a resend first.
		"not sent": {"tok_visa", says, payment.OperationSucceeded, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Timeout: 10 * time.Second})
			for range 12 {
				s := fellAsleep(t, r, fixture.WithMethod(race.method))
				answer := race.answer(t, s)
				together(t,
					func() error { return s.tells(context.WithoutCancel(t.Context()), answer) },
					func() error { return reconcileOnce(t.Context(), r) },
					func() error { return reconcileOnce(t.Context(), r) },
				)
				settle(t, r, s.payment)
				state, _, _ := r.Operation(s.payment)
				require.Equal(t, race.want, state)
				charged, _ := r.Charged(s.payment)
				require.Equal(t, race.holds, charged)
				require.Equal(t, 1, r.Count(`SELECT count(*) FROM payment_history
					WHERE operation_id = $1 AND to_state IN ('succeeded', 'failed')`, s.payment.OperationID))
			}
		})
	}
}

func reconcileOnce(ctx context.Context, r *rig.Rig) error {
	if _, err := r.Reconciler.TakeOver(ctx); err != nil {
		return err
	}
	_, err := r.Reconciler.Look(ctx)
	return err
}

// together runs them at once.
func together(t *testing.T, run ...func() error) {
	t.Helper()
	var running sync.WaitGroup
	start := make(chan struct{})
	for _, f := range run {
		running.Go(func() {
			<-start
			if err := f(); err != nil {
				t.Errorf("racing: %v", err)
			}
		})
	}
	close(start)
	running.Wait()
}

// settle goes on, with the clock moved past each wait, until the payment is final.
func settle(t *testing.T, r *rig.Rig, p operation.NewPayment) {
	t.Helper()
	for step := 2; step < 12; step++ {
		state, _, _ := r.Operation(p)
		if state.Final() {
			return
		}
		r.DB.SetNow(t, time.Duration(step)*time.Minute)
		require.NoError(t, reconcileOnce(t.Context(), r))
		r.DueNow(p)
		_, err := dueOnce(t, r)
		require.NoError(t, err)
	}
}

func TestU3_TwoReconcilersRaceForOneOperationAndOneAsks(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Timeout: 10 * time.Second})
	s := fellAsleep(t, r)
	takeOver(t, r)
	r.DB.SetNow(t, 2*time.Minute)
	var mu sync.Mutex
	total := 0
	look := func() error {
		looked, err := r.Reconciler.Look(t.Context())
		mu.Lock()
		defer mu.Unlock()
		total += looked
		return err
	}
	together(t, look, look, look, look)
	require.Equal(t, 1, total)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry'"))
	require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE resend_fence = fence"))
	for range 3 { // one order is one request, however often it is looked for
		_, err := dueOnce(t, r)
		require.NoError(t, err)
	}
	charged, sends := r.Charged(s.payment)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}
