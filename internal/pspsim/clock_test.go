package pspsim_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

func TestTheProvidersClockDecidesAboutKeysPendingMovementsAndTheLag(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	b := start(t, pspsim.Options{
		Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) },
		Faults: pspsim.Faults{
			Rates: pspsim.Rates{PendingMS: 60_000}, Keys: pspsim.KeysForgetAfter, ForgetAfter: pspsim.Duration(time.Hour),
			Inquiry: pspsim.InquiryLagging, InquiryLag: pspsim.Duration(time.Minute),
		},
	})
	body := fields{"reference": "R1", "amountMinor": 1000, "currency": "TRY", "paymentMethod": "tok_pending"}
	for range 2 {
		b.do("POST", "/v1/charges", "k1", body)
	}
	require.Empty(t, b.find("R1"), "it lags")
	require.Zero(t, b.counts("R1").Charged)

	ahead.Store(int64(2 * time.Minute))
	require.Equal(t, pspsim.StatusCaptured, b.find("R1")[0].Status)
	b.do("POST", "/v1/charges", "k1", body)
	require.Equal(t, 1, b.counts("R1").Charged)

	ahead.Store(int64(time.Hour))
	b.do("POST", "/v1/charges", "k1", body)
	ahead.Store(int64(2 * time.Hour))
	require.Equal(t, 2, b.counts("R1").Charged, "the key was forgotten")
}
