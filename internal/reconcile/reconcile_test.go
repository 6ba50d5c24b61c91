package reconcile_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func steps(t *testing.T, texts ...string) pspsim.Faults {
	t.Helper()
	script := pspsim.Script{Reference: "*"}
	for _, text := range texts {
		step, err := pspsim.ParseStep(text)
		require.NoError(t, err)
		script.Steps = append(script.Steps, step)
	}
	return pspsim.Faults{Scripts: []pspsim.Script{script}}
}

func TestT6_AChargeWhoseAnswerWasCutIsFoundByInquiry(t *testing.T) {
	t.Parallel()
	for _, connector := range []string{"simulated", "simulated-nokeys"} {
		t.Run(connector, func(t *testing.T) {
			t.Parallel()
			r := rig.New(t, rig.Options{Connector: connector, Faults: steps(t, "cut_after")})
			p := fixture.Accept(t, r.DB.App)
			r.DueNow(p)
			r.StartScheduler()
			r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
			r.StartReconciler()
			r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
			charged, sends := r.Charged(p)
			require.Equal(t, [2]int{1, 1}, [2]int{charged, sends}, "charges and requests")
			require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry' AND verdict = 'captured'"))
			require.Equal(t, 2, r.Count("SELECT count(*) FROM ledger_entry"))
			require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.PaymentUnknown.v1'"))
			require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.PaymentCaptured.v1'"))
		})
	}
}

// A worker that is killed right after its claim leaves exactly this behind: a
// committed claim and nobody who sends.
func claimAndVanish(t *testing.T, r *rig.Rig, p operation.NewPayment) {
	t.Helper()
	claim := operation.Claim{
		Worker: "killed", Lease: time.Millisecond, Allowance: time.Millisecond,
		Served: []operation.Served{{Account: fixture.Account, Recipe: r.Connector.Recipe(), Horizon: time.Hour}},
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		attempts, err := claim.Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
		require.Len(t, attempts, 1)
		return err
	}))
}

func TestT5_AWorkerKilledAfterTheClaimIsTakenOverAndTheCustomerIsChargedOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	claimAndVanish(t, r, p)
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
	_, fence, _ := r.Operation(p)
	require.GreaterOrEqual(t, fence, int64(3), "claim, takeover, resend")
	require.Equal(t, 2, r.Count("SELECT count(*) FROM attempt"))
	require.GreaterOrEqual(t, r.Count("SELECT count(*) FROM evidence WHERE source = 'inquiry' AND verdict = 'not_taken'"), 1, "U3: it asked first")
}

func TestU4_WithoutKeysNotFoundClosesTheDoorBeforeThePaymentFails(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-nokeys"})
	p := fixture.Accept(t, r.DB.App)
	claimAndVanish(t, r, p)
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateFailed)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE source = 'closure' AND verdict = 'not_taken'"))
	_, sends := r.Charged(p)
	require.Zero(t, sends, "U2: nothing was resent without a key")

	again := fixture.Accept(t, r.DB.App, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	require.NotEqual(t, p.PaymentID, again.PaymentID, "I9: after a failure the same invoice can be paid again")
}

func TestU2_KeysWithoutInquiryAreResentWithinTheHorizon(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-keysonly", Timeout: 300 * time.Millisecond, Faults: steps(t, "cut_after", "cut_before")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 3}, [2]int{charged, sends}, "three requests with one key are one charge")
}

func TestAResendThatWouldHaveOtherBytesIsNeverOrdered(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	claimAndVanish(t, r, p)
	_, err := r.DB.Owner.Exec(t.Context(), "ALTER TABLE attempt DISABLE TRIGGER USER")
	require.NoError(t, err)
	_, err = r.DB.Owner.Exec(t.Context(), "UPDATE attempt SET recipe = 'simulated/0'") // as an older version would have left it
	require.NoError(t, err)
	r.StartScheduler()
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateFailed) // not found, and the door closed behind it
	require.Equal(t, 1, r.Count("SELECT count(*) FROM attempt"))
	_, sends := r.Charged(p)
	require.Zero(t, sends)
}

func TestU2_BeyondTheHorizonNothingIsResent(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-keysonly", Faults: steps(t, "cut_after")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
	r.DB.SetNow(t, 25*time.Hour)
	lookUntilPerson(t, r, p)
	_, sends := r.Charged(p)
	require.Equal(t, 1, sends)
}

func TestU6_WithoutKeysAndInquiryAnUnknownPaymentWaitsForAPerson(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Connector: "simulated-bare", Faults: steps(t, "cut_after")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
	r.DB.SetNow(t, time.Hour)
	lookUntilPerson(t, r, p)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM operation WHERE state = 'unknown' AND open_since IS NOT NULL AND next_check_at > payonce_now()"),
		"an age and a next look")
	require.Equal(t, 1, r.Count("SELECT count(*) FROM invoice_identity"), "the invoice stays blocked")
	_, sends := r.Charged(p)
	require.Equal(t, 1, sends)
}

func lookUntilPerson(t *testing.T, r *rig.Rig, p operation.NewPayment) {
	t.Helper()
	for range 5 {
		_, err := r.Reconciler.Look(t.Context())
		require.NoError(t, err)
		if r.Count("SELECT count(*) FROM operation WHERE id = $1 AND waits_for = 'person'", p.OperationID) == 1 {
			return
		}
	}
	t.Fatal("no person was asked")
}

func TestT9_ATimeoutStaysOpenAndBlocksTheInvoice(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Timeout: 200 * time.Millisecond, Faults: steps(t, "delay_before:30s")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE verdict = 'unclear'"))
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		taken, err := operation.HoldIdentities(t.Context(), tx, []operation.NewPayment{{
			PaymentID: p.OperationID, MerchantID: p.MerchantID, InvoiceID: p.InvoiceID, PaymentType: p.PaymentType,
		}})
		require.Equal(t, p.PaymentID, taken[p.OperationID], "the invoice belongs to the open payment")
		return err
	}))
}

func TestU3_TwoReconcilersTakeOverALeaseOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	const count = 40
	payments := fixture.AcceptMany(t, r.DB.App, count)
	r.DueNow(payments...)
	claim := operation.Claim{Worker: "killed", Lease: time.Millisecond, Allowance: time.Millisecond,
		Served: []operation.Served{{Account: fixture.Account, Recipe: r.Connector.Recipe(), Horizon: time.Hour}}}
	require.NoError(t, pgx.BeginFunc(t.Context(), r.DB.App, func(tx pgx.Tx) error {
		attempts, err := claim.ClaimDue(t.Context(), tx, count)
		require.Len(t, attempts, count)
		return err
	}))
	var takers sync.WaitGroup
	var mu sync.Mutex
	total := 0
	for range 4 {
		takers.Go(func() {
			for range 10 {
				n, err := r.Reconciler.TakeOver(context.WithoutCancel(t.Context()))
				mu.Lock()
				total += n
				if err != nil {
					t.Errorf("taking over: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	takers.Wait()
	require.Equal(t, count, total)
	require.Equal(t, count, r.Count("SELECT count(*) FROM operation WHERE state = 'unknown' AND fence = 2"))
	require.Equal(t, count, r.Count("SELECT count(*) FROM payment_history WHERE reason = 'lease-ran-out'"))
}

func TestW2_ALateCaptureOfATakenOverWorkerIsAppliedAtOnce(t *testing.T) {
	t.Parallel()
	// The lease ends while the provider still thinks; the answer comes afterwards.
	r := rig.New(t, rig.Options{Timeout: 10 * time.Second, Faults: steps(t, "delay_before:1500ms")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	r.StartScheduler()
	r.AwaitState([]operation.NewPayment{p}, payment.StateProcessing)
	r.DB.SetNow(t, time.Minute) // past the lease, for the database
	n, err := r.Reconciler.TakeOver(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	charged, sends := r.Charged(p)
	require.Equal(t, [2]int{1, 1}, [2]int{charged, sends})
}

func TestPendingPaymentsAreAskedAboutUntilTheyAreFinal(t *testing.T) {
	t.Parallel()
	for step, want := range map[string]payment.State{"pending": payment.StateCaptured, "pending_decline": payment.StateFailed} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			faults := steps(t, step)
			faults.Rates.PendingMS = 400
			r := rig.New(t, rig.Options{Timeout: 300 * time.Millisecond, Faults: faults})
			p := fixture.Accept(t, r.DB.App)
			r.DueNow(p)
			r.StartScheduler()
			r.StartReconciler()
			r.AwaitState([]operation.NewPayment{p}, want)
			_, sends := r.Charged(p)
			require.Equal(t, 1, sends)
			require.Equal(t, 1, r.Count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.PaymentPending.v1'"))
		})
	}
}

func TestChargeBeforeFailsWhatWasNeverSentAndClosesTheDoorBehindWhatWas(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Timeout: 300 * time.Millisecond, Faults: steps(t, "too_many", "too_many", "too_many", "too_many")})
	never := fixture.Accept(t, r.DB.App, fixture.ChargeBefore(time.Now().Add(time.Hour)))
	tried := fixture.Accept(t, r.DB.App, fixture.ChargeBefore(time.Now().Add(time.Hour)))
	r.DueNow(tried)
	n, err := dueOnce(t, r)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	r.AwaitState([]operation.NewPayment{tried}, payment.StateCreated)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE source = 'answer' AND verdict = 'not_taken'"))

	r.DB.SetNow(t, 2*time.Hour)
	r.StartScheduler() // must send nothing any more
	r.StartReconciler()
	r.AwaitState([]operation.NewPayment{never, tried}, payment.StateFailed)
	_, _, reason := r.Operation(never)
	require.Equal(t, "expired", reason)
	require.Equal(t, 0, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1", never.OperationID))
	require.GreaterOrEqual(t, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND source = 'closure'", tried.OperationID), 1)
	_, sends := r.Charged(tried)
	require.Equal(t, 1, sends)
}

// dueOnce claims and sends what is due, once, and waits for the answers.
func dueOnce(t *testing.T, r *rig.Rig) (int, error) {
	t.Helper()
	n, err := r.Worker.ScheduleOnce(t.Context())
	if err != nil {
		return n, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), rig.Patience)
	defer cancel()
	return n, r.Worker.Drain(ctx)
}
