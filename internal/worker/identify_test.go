package worker_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap/zaptest"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/connectors"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/rig"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/payment"
)

// A provider that does not say whose credentials these are gets no payment, and the
// payments go out once it does.
func TestNothingIsClaimedForAnAccountThatIsNotKnown(t *testing.T) {
	t.Parallel()
	var silent atomic.Bool
	stripe := fakestripe.New("acct_1")
	r := rig.New(t, rig.Options{Connector: "stripe", Key: fakestripe.Key, Provider: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if silent.Load() && req.URL.Path == "/v1/account" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		stripe.ServeHTTP(w, req)
	})})
	silent.Store(true)
	fresh, err := connectors.New("stripe", connectors.Options{Address: r.URL, Key: fakestripe.Key, Timeout: time.Second})
	require.NoError(t, err)
	w, err := worker.New(worker.Config{
		Name: "worker-2", Accounts: map[string]provider.Connector{fixture.Account: fresh}, Lease: 10 * time.Second,
	}, r.DB.App, r.Applier, zaptest.NewLogger(t))
	require.NoError(t, err)
	p := fixture.Accept(t, r.DB.App)
	r.DueNow(p)
	launched, err := w.ScheduleOnce(t.Context())
	require.NoError(t, err)
	require.Zero(t, launched)
	drain(t, w)
	require.Zero(t, r.Count("SELECT count(*) FROM attempt"))

	silent.Store(false)
	require.NoError(t, fresh.Identify(t.Context()))
	// A claim on a machine that is too busy for it comes with the next look.
	require.Eventually(t, func() bool {
		launched, err = w.ScheduleOnce(t.Context())
		return err == nil && launched == 1
	}, rig.Patience, 20*time.Millisecond)
	drain(t, w)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	require.Equal(t, 1, r.Count("SELECT count(*) FROM attempt WHERE recipe LIKE 'stripe/2/%@acct_1/test'"))
}
