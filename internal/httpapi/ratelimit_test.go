package httpapi

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/merchant"
)

func TestI13_ABucketHoldsABurstAndFillsAtTheRate(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := newLimits(merchant.Limit{PerSecond: 2, Burst: 3})
	l.now = func() time.Time { return now }
	shop, other := merchant.Merchant{ID: uuid.New()}, merchant.Merchant{ID: uuid.New()}
	for range 3 {
		require.Zero(t, l.admit(shop, false))
	}
	for range 5 {
		require.Equal(t, 500*time.Millisecond, l.admit(shop, false), "who is refused takes nothing")
	}
	require.Zero(t, l.admit(shop, true), "reads have a bucket of their own")
	require.Zero(t, l.admit(other, false), "and so has everybody")
	now = now.Add(500 * time.Millisecond)
	require.Zero(t, l.admit(shop, false))
	require.Positive(t, l.admit(shop, false))
	now = now.Add(time.Hour)
	for range 3 {
		require.Zero(t, l.admit(shop, false))
	}
	require.Positive(t, l.admit(shop, false), "an hour of silence is one burst")
}

func TestI13_AMerchantsOwnLimitGoesBeforeTheProcesssAndIsTakenOverAtOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	l := newLimits(merchant.Limit{})
	l.now = func() time.Time { return now }
	shop := merchant.Merchant{ID: uuid.New()}
	for range 1000 {
		require.Zero(t, l.admit(shop, false), "zero is no limit")
	}
	shop.Limit = merchant.Limit{PerSecond: 1, Burst: 2}
	require.Zero(t, l.admit(shop, false))
	require.Zero(t, l.admit(shop, false))
	require.Equal(t, time.Second, l.admit(shop, false))
	shop.Limit = merchant.Limit{PerSecond: 10, Burst: 20}
	require.Equal(t, 100*time.Millisecond, l.admit(shop, false), "a changed limit is no new burst")
	now = now.Add(100 * time.Millisecond)
	require.Zero(t, l.admit(shop, false))
}

func TestI13_TheBucketsAreBounded(t *testing.T) {
	t.Parallel()
	l := newLimits(merchant.Limit{PerSecond: 1, Burst: 1})
	for range bucketsMax + 10 {
		l.admit(merchant.Merchant{ID: uuid.New()}, false)
	}
	require.Equal(t, bucketsMax, l.buckets.Len())
}

// limit gives the door's merchant a limit, which the door has not heard of before.
func (d *door) limit(t *testing.T, limit merchant.Limit) {
	t.Helper()
	d.configure(t, func(s *merchant.Settings) { s.Limit = limit })
}

func (d *door) configure(t *testing.T, change func(*merchant.Settings)) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		_, err := merchant.Configure(t.Context(), tx, d.shop.ID, merchant.Decision{By: "ayse", Reason: "a test"}, change)
		return err
	}))
}

func TestI13_WhoIsTooFastGets429AndNothingIsStored(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	d.limit(t, merchant.Limit{PerSecond: 1, Burst: 3})
	accepted, refused := 0, []string{}
	for i, a := range atOnce(t, 60, func(i int) answer {
		return d.post(t, fmt.Sprintf("k-%d", i), order(fmt.Sprintf("INV-%d", i), `"10.00"`))
	}) {
		if a.status == http.StatusAccepted {
			accepted++
			continue
		}
		require.Equal(t, http.StatusTooManyRequests, a.status, "%d: %s", i, a.body)
		p := a.problem(t)
		require.Equal(t, "urn:payonce:problem:rate-limited", p.Type)
		require.True(t, p.Retryable)
		require.Contains(t, p.Detail, "not looked at. That says nothing about an earlier one with the same key", "which may be a payment")
		refused = append(refused, a.header.Get("Retry-After"))
	}
	require.GreaterOrEqual(t, accepted, 3)
	require.Contains(t, refused, "1", "whole seconds, and one at least")
	require.Equal(t, payments(accepted), d.stored(t))

	limited := 0
	for _, a := range atOnce(t, 60, func(int) answer { return d.post(t, "k-0", order("INV-0", `"10.00"`)) }) {
		if a.status == http.StatusTooManyRequests {
			limited++
		}
	}
	require.Positive(t, limited, "a repeat is limited as everything is")
	require.Equal(t, http.StatusNotFound, d.get(t, location(uuid.New()), d.key).status, "reads are counted apart")
	_, strangersKey := d.merchant(t)
	require.Equal(t, http.StatusAccepted, d.post(t, "k-1", order("INV-1", `"10.00"`), header("Authorization", "Bearer "+strangersKey)).status)
}
