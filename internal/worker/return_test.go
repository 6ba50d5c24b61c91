package worker_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/payment"
)

// quick is a Pace for tests that wait for what comes after an outage.
var quick = worker.Pace{Rest: 200 * time.Millisecond, RampWindow: 100 * time.Millisecond}

// openBreaker has the provider fail until nothing is sent any more, and stops it
// then. The scheduler runs from here on.
func openBreaker(t *testing.T, r *rig.Rig, f *front) []operation.NewPayment {
	t.Helper()
	f.become(page)
	payments := fixture.AcceptMany(t, r.DB.App, 40)
	r.DueNow(payments...)
	_, err := r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	drain(t, r.Worker)
	seen := f.become(closed)
	require.NotEmpty(t, seen.moments)
	r.DueNow(payments...)
	return payments
}

func TestW3_AProviderThatComesBackIsAskedBeforeItIsSentAnything(t *testing.T) {
	t.Parallel()
	f := newFront(t, pspsim.Faults{})
	r := rig.New(t, rig.Options{Address: f.url, Pace: quick})
	tripping := openBreaker(t, r, f)
	later := fixture.AcceptMany(t, r.DB.App, 40)
	r.DueNow(later...)
	f.ponder = 100 * time.Millisecond // so that a request that does not wait for the answers is seen
	f.become(up)
	r.StartScheduler()
	r.AwaitState(later, payment.StateCaptured)
	seen := f.look()
	require.GreaterOrEqual(t, len(seen.moments), 3)
	for _, m := range seen.moments[:3] {
		require.Equal(t, http.MethodGet, m.method, "three questions first")
	}
	require.Equal(t, http.MethodPost, seen.moments[3].method)
	require.LessOrEqual(t, seen.moments[3].inFlight, 3)
	r.StartReconciler()
	r.AwaitState(append(tripping, later...), payment.StateCaptured)
	requireChargedOnce(t, f, append(tripping, later...))
}

func TestW3_OneQuestionThatTheProviderFailsAtHoldsUpNobody(t *testing.T) {
	t.Parallel()
	f := newFront(t, pspsim.Faults{})
	r := rig.New(t, rig.Options{Address: f.url, Pace: quick})
	openBreaker(t, r, f)
	waiting := fixture.AcceptMany(t, r.DB.App, 40)
	r.DueNow(waiting...)
	oldest := waiting[0].OperationID
	_, err := r.DB.App.Exec(t.Context(), "UPDATE operation SET next_attempt_at = next_attempt_at - interval '1 hour' WHERE id = $1", oldest)
	require.NoError(t, err)
	f.failsAt = oldest.String()
	f.become(up)
	r.StartScheduler()
	r.AwaitState(waiting, payment.StateCaptured)
	requireChargedOnce(t, f, waiting)
}

func requireChargedOnce(t *testing.T, f *front, payments []operation.NewPayment) {
	t.Helper()
	told := f.Oracle().References
	for _, p := range payments {
		counts := told[p.OperationID.String()]
		require.Equal(t, [2]int{1, 0}, [2]int{counts.Charged, counts.Voided}, "%s: %+v", p.OperationID, counts)
	}
}

func TestW3_APauseThatTheProviderAsksForHoldsUpTheWholeAccount(t *testing.T) {
	t.Parallel()
	tooMany, err := pspsim.ParseStep("too_many") // with "Retry-After: 1"
	require.NoError(t, err)
	f := newFront(t, pspsim.Faults{Scripts: []pspsim.Script{{PaymentMethod: "tok_busy", Steps: []pspsim.Step{tooMany}}}})
	r, b := rig.New(t, rig.Options{Address: f.url, Slots: 1}), testkit.NewFakeBroker(t)
	// The consumer has its partitions and the messages are made before the provider asks
	// for its second, in which they have to come.
	first := fixture.Accept(t, r.DB.App)
	publish(t, b, record(t, b, first))
	r.StartConsumer(b)
	awaitCommitted(t, b, 1)
	r.AwaitState([]operation.NewPayment{first}, payment.StateCaptured)
	others := fixture.AcceptMany(t, r.DB.App, 5)
	messages := make([]*kgo.Record, len(others))
	for i, p := range others {
		messages[i] = record(t, b, p)
	}
	busy := fixture.Accept(t, r.DB.App, fixture.WithMethod("tok_busy"))
	r.DueNow(busy)
	drain(t, r.Worker) // the first one's slot
	_, err = r.Worker.ScheduleOnce(t.Context())
	require.NoError(t, err)
	drain(t, r.Worker)
	told := f.become(up).moments
	publish(t, b, messages...)
	awaitCommitted(t, b, int64(1+len(others)))
	require.Equal(t, len(others), r.Count("SELECT count(*) FROM operation WHERE state = 'created' AND reason = 'rate-limited'"))
	require.Equal(t, len(others)+1, r.Count("SELECT count(*) FROM operation WHERE next_attempt_at IS NOT NULL"))
	r.StartScheduler()
	r.AwaitState(append(others, busy), payment.StateCaptured)
	moments := f.look().moments
	require.GreaterOrEqual(t, moments[0].at.Sub(told[len(told)-1].at), time.Second, "nothing arrives meanwhile")
	requireChargedOnce(t, f, append(others, busy))
}

// Who came first is sent first, whether it waits or is announced; and neither keeps
// the other waiting for ever.
func TestW7_WhatWaitsIsSentBeforeWhatCameLater(t *testing.T) {
	t.Parallel()
	f := newFront(t, pspsim.Faults{Rates: pspsim.Rates{DelayMS: 5}})
	r, b := rig.New(t, rig.Options{Address: f.url, Slots: 1}), testkit.NewFakeBroker(t)
	waiting := fixture.AcceptMany(t, r.DB.App, 30)
	for i, p := range waiting {
		_, err := r.DB.App.Exec(t.Context(), "UPDATE operation SET next_attempt_at = payonce_now() - ($2 * interval '1 ms') WHERE id = $1",
			p.OperationID, 100-i)
		require.NoError(t, err)
	}
	_, err := r.Worker.ScheduleOnce(t.Context()) // the look that finds more than there are slots
	require.NoError(t, err)
	drain(t, r.Worker)
	announced := fixture.AcceptMany(t, r.DB.App, 30)
	records := make([]*kgo.Record, len(announced))
	for i, p := range announced {
		records[i] = record(t, b, p)
	}
	publish(t, b, records...)
	r.StartConsumer(b)
	awaitCommitted(t, b, int64(len(announced)))
	r.StartScheduler()
	r.AwaitState(append(waiting, announced...), payment.StateCaptured)
	var sent []string
	for _, m := range f.look().moments {
		if m.method == http.MethodPost {
			sent = append(sent, m.body)
		}
	}
	require.Len(t, sent, 60)
	for i, p := range waiting {
		require.Contains(t, sent[i], p.OperationID.String(), "the %dth to be sent is another one", i)
	}
}
