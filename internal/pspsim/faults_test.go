package pspsim_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

func TestScriptsMatchTheReferenceThenTheMethodThenAnything(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	r := b.do(http.MethodPut, "/faults", "", fields{"scripts": []fields{
		{"reference": "R1", "steps": []string{"decline"}},
		{"paymentMethod": "tok", "steps": []string{"too_many", "ok"}},
		{"reference": "*", "steps": []string{"refuse"}},
	}})
	require.Equal(t, http.StatusOK, r.status, "%s", r.body)
	require.Equal(t, pspsim.StatusDeclined, decode[pspsim.Movement](t, b.charge("R1", "")).Status)
	require.Equal(t, http.StatusTooManyRequests, b.charge("R2", "").status)
	require.Equal(t, http.StatusCreated, b.charge("R2", "").status, "the second arrival meets the second step")
	require.Equal(t, http.StatusTooManyRequests, b.charge("R3", "").status, "each reference begins with the first step")
	other := b.do(http.MethodPost, "/v1/charges", "", fields{"reference": "R4", "amountMinor": 1, "currency": "TRY", "paymentMethod": "another"})
	require.Equal(t, http.StatusUnprocessableEntity, other.status)
	require.JSONEq(t, string(r.body), string(b.do(http.MethodGet, "/faults", "", nil).body))
}

func TestMisspeltFaultsAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	for _, bad := range []fields{
		{"rates": fields{"cutt_after": 0.5}},
		{"rates": fields{"decline": 1.5}},
		{"rates": fields{"cut_after": 0.6, "cut_before": 0.6}},
		{"rates": fields{"delay_ms": -1}},
		{"keys": "sometimes"},
		{"keys": "forget_after"},
		{"inquiry": "lagging"},
		{"forget_after": "10"},
		{"scripts": []fields{{"reference": "R", "steps": []string{"explode"}}}},
		{"scripts": []fields{{"reference": "R", "steps": []string{"decline:2s"}}}},
		{"scripts": []fields{{"reference": "R", "steps": []string{"delay_after:1y"}}}},
		{"scripts": []fields{{"reference": "R", "steps": []string{}}}},
		{"scripts": []fields{{"reference": "R", "paymentMethod": "M", "steps": []string{"ok"}}}},
	} {
		require.Equal(t, http.StatusBadRequest, b.do(http.MethodPut, "/faults", "", bad).status, "%v", bad)
	}
	require.Equal(t, http.StatusCreated, b.charge("R", "").status, "what was in force stays")
}

// The same requests meet the same faults, in whatever order they arrive.
func TestFaultsDependOnSeedReferenceAndArrivalOnly(t *testing.T) {
	t.Parallel()
	rates := pspsim.Faults{
		Keys: pspsim.KeysOff, Rates: pspsim.Rates{Decline: 0.2, Refuse: 0.1, CutBefore: 0.1, CutAfter: 0.1, Error5xx: 0.2, TooMany: 0.1},
	}
	run := func(seed uint64, order []int) string {
		b := start(t, pspsim.Options{Seed: seed, Faults: rates})
		outcomes := make([]string, len(order))
		var posts sync.WaitGroup
		for _, i := range order {
			posts.Go(func() {
				for range 2 {
					r := b.charge(fmt.Sprintf("R%d", i), "")
					outcomes[i] += fmt.Sprintf("%d %t,", r.status, r.cut)
				}
				outcomes[i] += fmt.Sprint(b.counts(fmt.Sprintf("R%d", i)).Charged)
			})
		}
		posts.Wait()
		b.stop()
		return strings.Join(outcomes, "\n")
	}
	forward, backward := make([]int, 60), make([]int, 60)
	for i := range forward {
		forward[i], backward[len(backward)-1-i] = i, i
	}
	require.Equal(t, run(7, forward), run(7, backward))
	require.NotEqual(t, run(7, forward), run(8, forward))
}

func TestRatesAreKept(t *testing.T) {
	t.Parallel()
	const requests = 2000
	b := start(t, pspsim.Options{Seed: 3, Faults: pspsim.Faults{Rates: pspsim.Rates{Decline: 0.3, Refuse: 0.2, TooMany: 0.1}}})
	got := map[string]int{}
	for i := range requests {
		r := b.charge(fmt.Sprintf("R%d", i), "")
		name := fmt.Sprint(r.status)
		if r.status == http.StatusCreated {
			name = string(decode[pspsim.Movement](t, r).Status)
		}
		got[name]++
	}
	require.InDelta(t, 0.2, float64(got["422"])/requests, 0.03)
	require.InDelta(t, 0.1, float64(got["429"])/requests, 0.03)
	require.InDelta(t, 0.3*0.7, float64(got["declined"])/requests, 0.03)
}

func TestShuttingDownEndsDelays(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.script("delay_after:10m")
	answered := make(chan reply, 1)
	go func() { answered <- b.charge("R1", "k1") }()
	b.eventually(func() bool { return b.counts("R1").Charged == 1 })
	b.stop()
	<-answered
}
