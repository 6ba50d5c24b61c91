package httpapi

import (
	"net/http"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/problem"
)

func TestI13_OneMerchantCannotHoldAllOfTheRequestsAtWork(t *testing.T) {
	t.Parallel()
	shares, shop := newShares(MerchantInFlightMax), uuid.New()
	for range MerchantInFlightMax {
		require.True(t, shares.take(shop))
	}
	require.False(t, shares.take(shop))
	require.True(t, shares.take(uuid.New()), "another merchant has its own")
	shares.giveBack(shop)
	require.True(t, shares.take(shop))
	for range MerchantInFlightMax {
		shares.giveBack(shop)
	}
	require.Len(t, shares.held, 1, "who has no request is not remembered")
}

func TestI13_WhoHasNoShareLeftIsToldToComeAgain(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	a := newAPI(d.config)
	a.shares = newShares(1)
	d.handler = a.handler()
	d.url = d.serve(t, func(*http.Server) {}).URL
	require.True(t, a.shares.take(d.shop.ID))
	refused := d.get(t, "/v1/payments", d.key)
	require.Equal(t, problem.Prefix+problem.RateLimited.Name, refused.problem(t).Type)
	require.Equal(t, "1", refused.header.Get("Retry-After"))
	a.shares.giveBack(d.shop.ID)
	for range 3 {
		require.Equal(t, http.StatusOK, d.get(t, "/v1/payments", d.key).status, "each one gives its share back")
	}
}
