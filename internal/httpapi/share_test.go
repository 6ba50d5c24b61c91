package httpapi

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
)

func TestI13_OneMerchantCannotHoldAllOfTheRequestsAtWork(t *testing.T) {
	t.Parallel()
	a := &api{shares: newShares(MerchantInFlightMax)}
	shop, other := merchant.Merchant{ID: uuid.New()}, merchant.Merchant{ID: uuid.New()}
	entered, leave, left := make(chan struct{}), make(chan struct{}), make(chan error)
	serve := func(m merchant.Merchant, work func()) (*httptest.ResponseRecorder, error) {
		w := httptest.NewRecorder()
		err := a.shared(func(http.ResponseWriter, *http.Request, merchant.Merchant) error {
			work()
			return nil
		})(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil), m)
		return w, err
	}
	for range MerchantInFlightMax {
		go func() {
			_, err := serve(shop, func() {
				entered <- struct{}{}
				<-leave
			})
			left <- err
		}()
		<-entered
	}
	w, err := serve(shop, func() {})
	require.Equal(t, problem.Prefix+problem.RateLimited.Name, problem.Explain(err).Type)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	_, err = serve(other, func() {})
	require.NoError(t, err)
	close(leave)
	for range MerchantInFlightMax {
		require.NoError(t, <-left)
	}
	_, err = serve(shop, func() {})
	require.NoError(t, err)
	require.Empty(t, a.shares.held, "who has no request is not remembered")
}
