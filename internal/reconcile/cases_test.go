package reconcile_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/pkg/payment"
)

// failedThoughCharged is a payment that failed here on a person's mistaken word, while
// the provider charged it.
func failedThoughCharged(t *testing.T, r *rig.Rig) operation.NewPayment {
	t.Helper()
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
	r.DB.SetNow(t, time.Minute)
	now := time.Now().Add(time.Minute)
	applied, err := r.Applier.Do(t.Context(), outcome.Outcome{PaymentID: p.PaymentID, Settle: true, Learned: evidence.Evidence{
		OperationID: p.OperationID, Source: evidence.Operator, Verdict: payment.VerdictNotTaken, AskedAt: now, CoversUntil: now,
	}})
	require.NoError(t, err)
	require.Equal(t, payment.OperationFailed, applied.To)
	return p
}

// inquire asks the provider about a payment's charge and applies the answer.
func inquire(t *testing.T, r *rig.Rig, p operation.NewPayment) outcome.Applied {
	t.Helper()
	answer := r.Connector.Inquire(t.Context(), provider.Operation{
		ID: p.OperationID, Kind: payment.KindCharge, Reference: p.OperationID.String(), Amount: p.Amount,
	})
	applied, err := r.Applier.Do(t.Context(), outcome.Outcome{
		PaymentID: p.PaymentID, Learned: outcome.Learned(p.OperationID, evidence.Inquiry, answer, time.Now().Add(time.Minute)), Others: answer.Others,
	})
	require.NoError(t, err)
	return applied
}

// strayCopy charges a payment's reference again, as a copy of its request would at a
// provider that forgot the key.
func strayCopy(t *testing.T, r *rig.Rig, p operation.NewPayment) {
	t.Helper()
	body := `{"reference":"` + p.OperationID.String() + `","amountMinor":1000,"currency":"TRY"}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+"/v1/charges", strings.NewReader(body))
	require.NoError(t, err)
	client := &http.Client{Timeout: rig.Patience, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
}

// awaitCase waits until the one case of a payment is as it should be.
func awaitCase(t *testing.T, r *rig.Rig, p operation.NewPayment, as func(casework.Case) bool) casework.Detail {
	t.Helper()
	var found []casework.Case
	require.Eventually(t, func() bool {
		var err error
		found, err = casework.List(t.Context(), r.DB.App, casework.Filter{Closed: true, PaymentID: p.PaymentID})
		require.NoError(t, err)
		return len(found) == 1 && as(found[0])
	}, rig.Patience, 10*time.Millisecond)
	detail, err := casework.Get(t.Context(), r.DB.App, found[0].ID)
	require.NoError(t, err)
	return detail
}

func resolved(as casework.Resolution) func(casework.Case) bool {
	return func(c casework.Case) bool { return c.Resolution == as }
}

// refunded counts the refunds that took place at the provider.
func refunded(r *rig.Rig) int {
	n := 0
	for _, counts := range r.Sim.Oracle().References {
		n += counts.Refunded
	}
	return n
}

// requireBooks: all sums to zero, and nothing stands in suspense.
func requireBooks(t *testing.T, r *rig.Rig, clearing int64) {
	t.Helper()
	balances, err := ledger.Balances(t.Context(), r.DB.App)
	require.NoError(t, err)
	byAccount, sum := map[string]int64{}, int64(0)
	for _, b := range balances {
		byAccount[b.Account] += b.Minor
		sum += b.Minor
	}
	require.Zero(t, sum)
	require.Zero(t, byAccount[ledger.SuspenseAccount(fixture.Account)])
	require.Equal(t, clearing, byAccount[ledger.ClearingAccount(fixture.Account)])
}

func TestU7_AChargeFoundLateIsAdopted(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "cut_after")})
	p := failedThoughCharged(t, r)
	require.True(t, inquire(t, r, p).Contradiction)
	r.StartReconciler()
	awaitCase(t, r, p, resolved(casework.Adopted))
	require.Equal(t, payment.StateCaptured, fixture.State(t, r.DB.App, p))
	charged, _ := r.Charged(p)
	require.Equal(t, [2]int{1, 0}, [2]int{charged, refunded(r)})
	requireBooks(t, r, 1000)
}

func TestU7_AChargeFoundLateIsRefundedOnceWhenTheInvoiceIsTaken(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "cut_after")}) // the first answer about each reference is cut
	p := failedThoughCharged(t, r)
	second := fixture.Accept(t, r.DB.App, fixture.WithInvoice(p.MerchantID, p.InvoiceID))
	inquire(t, r, p)
	r.StartReconciler()
	awaitCase(t, r, p, func(c casework.Case) bool { return c.State == casework.Working })
	r.StartScheduler()
	c := awaitCase(t, r, p, resolved(casework.Refunded))
	require.Equal(t, payment.StateFailed, fixture.State(t, r.DB.App, p))
	require.Equal(t, payment.StateCreated, fixture.State(t, r.DB.App, second))
	require.Equal(t, 1, refunded(r))
	refund := c.Compensations[0].OperationID
	require.Equal(t, 1, r.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND source = 'inquiry' AND verdict = 'captured'", refund),
		"its own answer was cut, and the provider was asked")
	requireBooks(t, r, 0)
}

func TestU7_TwoChargesFoundByAnInquiryAreOneChargeAndOneRefund(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "cut_after")})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.AwaitState([]operation.NewPayment{p}, payment.StateUnknown)
	strayCopy(t, r, p)
	r.StartReconciler()
	r.StartScheduler()
	c := awaitCase(t, r, p, resolved(casework.Refunded))
	require.Equal(t, payment.StateCaptured, fixture.State(t, r.DB.App, p))
	charged, _ := r.Charged(p)
	require.Equal(t, [2]int{2, 1}, [2]int{charged, refunded(r)})
	require.Equal(t, casework.CapturedTwice, c.Kind)
	require.NotEmpty(t, c.ProviderObjectID)
	require.Zero(t, r.Count("SELECT count(*) FROM operation WHERE id = $1 AND provider_object_id = $2", p.OperationID, c.ProviderObjectID))
	requireBooks(t, r, 1000)
}

func TestU7_ARefundThatTheProviderRefusesGoesToAPerson(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	strayCopy(t, r, p)
	require.NoError(t, r.Sim.SetFaults(steps(t, "refuse")))
	inquire(t, r, p)
	r.StartReconciler()
	r.StartScheduler()
	c := awaitCase(t, r, p, func(c casework.Case) bool { return c.WaitsFor == operation.Person })
	require.Equal(t, payment.StateCaptured, fixture.State(t, r.DB.App, p))
	require.Zero(t, r.Count("SELECT refunded_minor FROM payment WHERE id = $1", p.PaymentID))

	require.NoError(t, r.Sim.SetFaults(pspsim.Faults{}))
	_, err = casework.Decide(t.Context(), r.DB.App, c.ID, casework.Decision{Action: casework.Refund, Version: c.Version, Who: "ada", Reason: "try again"})
	require.NoError(t, err)
	awaitCase(t, r, p, resolved(casework.Refunded))
	require.Equal(t, 1, refunded(r))
	requireBooks(t, r, 1000)
}

func TestU7_SeveralReconcilersOrderARefundOnce(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{})
	const count = 12
	payments := fixture.AcceptMany(t, r.DB.App, count)
	r.DueNow(payments...)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.AwaitState(payments, payment.StateCaptured)
	for _, p := range payments {
		strayCopy(t, r, p)
		inquire(t, r, p)
	}
	var reconcilers sync.WaitGroup
	taken := make(chan int, 4*count)
	for range 4 {
		reconcilers.Go(func() {
			for range count {
				n, err := r.Reconciler.CarryOut(context.WithoutCancel(t.Context()))
				assert.NoError(t, err)
				taken <- n
			}
		})
	}
	reconcilers.Wait()
	close(taken)
	total := 0
	for n := range taken {
		total += n
	}
	require.Equal(t, count, total)
	require.Equal(t, count, r.Count("SELECT count(*) FROM payment_case WHERE state = 'working'"))
	require.Equal(t, count, r.Count("SELECT count(DISTINCT case_id) FROM operation WHERE kind = 'refund'"))
	require.Equal(t, count, r.Count("SELECT count(*) FROM operation WHERE kind = 'refund'"))
	r.StartScheduler()
	require.Eventually(t, func() bool {
		return r.Count("SELECT count(*) FROM payment_case WHERE resolution = 'refunded'") == count
	},
		rig.Patience, 10*time.Millisecond)
	require.Equal(t, count, refunded(r))
	requireBooks(t, r, 1000*count)
}

// A reconciler that died after it took a case leaves it to the next one.
func TestU7_ACaseThatWasTakenAndLeftComesAgain(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Faults: steps(t, "cut_after")})
	p := failedThoughCharged(t, r)
	inquire(t, r, p)
	due, err := casework.TakeDue(t.Context(), r.DB.App, []string{fixture.Account}, 1, time.Minute)
	require.NoError(t, err)
	require.Len(t, due, 1)
	n, err := r.Reconciler.CarryOut(t.Context())
	require.NoError(t, err)
	require.Zero(t, n, "it is taken")
	r.DB.SetNow(t, time.Hour)
	n, err = r.Reconciler.CarryOut(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	awaitCase(t, r, p, resolved(casework.Adopted))
	_, err = casework.Get(t.Context(), r.DB.App, uuid.New())
	require.ErrorIs(t, err, casework.ErrNoSuchCase)
}

// Closing the door is about charges: for a refund that never arrived it would void by
// the refund's own reference, say nothing, and come again for ever.
func TestU7_ARefundThatNeverArrivedGoesToAPersonAndClosesNoDoor(t *testing.T) {
	t.Parallel()
	r := rig.New(t, rig.Options{Grace: time.Millisecond})
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	_, err := dueOnce(t, r)
	require.NoError(t, err)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	strayCopy(t, r, p)
	inquire(t, r, p)
	_, err = r.Reconciler.CarryOut(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.Sim.SetFaults(steps(t, "cut_before")))
	r.StartScheduler()
	require.Eventually(t, func() bool {
		return r.Count("SELECT count(*) FROM operation WHERE kind = 'refund' AND state = 'unknown'") == 1
	}, rig.Patience, 10*time.Millisecond)
	r.DB.SetNow(t, 25*time.Hour) // beyond the key's horizon
	r.StartReconciler()
	c := awaitCase(t, r, p, func(c casework.Case) bool { return c.WaitsFor == operation.Person })
	require.Equal(t, casework.Open, c.State)
	require.Zero(t, r.Count("SELECT count(*) FROM evidence WHERE source = 'closure'"))
	require.Zero(t, refunded(r))
}
