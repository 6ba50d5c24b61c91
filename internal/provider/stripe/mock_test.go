package stripe_test

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-mock/embedded"
	mock "github.com/stripe/stripe-mock/server"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

// newMock starts Stripe's own mock, which holds each request against the published
// description of the API: an unknown or missing parameter is a 400. It keeps nothing.
func newMock(t *testing.T) http.HandlerFunc {
	t.Helper()
	spec, err := mock.LoadSpec(embedded.OpenAPISpec, "")
	require.NoError(t, err)
	fixtures, err := mock.LoadFixtures(embedded.OpenAPIFixtures, "")
	require.NoError(t, err)
	stub, err := mock.NewStubServer(fixtures, spec, false, false)
	require.NoError(t, err)
	return stub.HandleRequest
}

// statuses keeps what each request was answered with.
type statuses struct {
	http.ResponseWriter
	all *[]int
}

// WriteHeader implements http.ResponseWriter.
func (s statuses) WriteHeader(status int) {
	*s.all = append(*s.all, status)
	s.ResponseWriter.WriteHeader(status)
}

func TestU11_EachRequestHasTheShapeThatStripePublishes(t *testing.T) {
	t.Parallel()
	stub := newMock(t)
	var mu sync.Mutex
	var answered []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		stub(statuses{w, &answered}, r)
	}))
	t.Cleanup(server.Close)
	connector := connect(t, server.URL, stripe.Options{Key: "sk_test_123"})
	op := func(kind payment.Kind) provider.Operation { return operation(t, kind, "10.00", "USD", "pi_1") }
	window := provider.ListQuery{From: time.Now().Add(-time.Hour), To: time.Now()}
	connector.Prepare(t.Context(), op(payment.KindCharge), within(time.Minute))
	for _, kind := range []payment.Kind{payment.KindCharge, payment.KindRefund, payment.KindVoid} {
		connector.Send(t.Context(), op(kind), within(time.Minute))
		connector.Inquire(t.Context(), op(kind))
	}
	connector.CloseDoor(t.Context(), op(payment.KindCharge))
	_, err := connector.List(t.Context(), window)
	require.NoError(t, err)
	window.Cursor = "refunds:re_1"
	_, err = connector.List(t.Context(), window)
	require.NoError(t, err)
	require.NoError(t, connector.Identify(t.Context()))

	mu.Lock()
	defer mu.Unlock()
	require.Len(t, answered, 11)
	for i, status := range answered {
		require.Equal(t, http.StatusOK, status, "request %d", i+1)
	}
}
