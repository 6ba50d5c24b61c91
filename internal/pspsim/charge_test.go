package pspsim_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

func TestAChargeIsAnsweredAndCounted(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	r := b.charge("R1", "k1")
	require.Equal(t, http.StatusCreated, r.status)
	movement := decode[map[string]any](t, r)
	delete(movement, "createdAt")
	require.Equal(t, fields{
		"id": "ch_000000000001", "kind": "charge", "reference": "R1", "status": "captured", "amountMinor": 1000.0, "currency": "TRY",
	}, movement)
	require.Equal(t, pspsim.Oracle{
		Totals:     map[string]pspsim.Total{"TRY": {Charged: 1000}},
		References: map[string]pspsim.Counts{"R1": {Charged: 1, Sends: 1}},
	}, b.server.Oracle())
}

func TestAKeyChargesOnceAndRepeatsItsFirstAnswer(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	first := b.charge("R1", "k1")
	require.Equal(t, first.body, b.charge("R1", "k1").body, "byte for byte")
	require.Equal(t, pspsim.Counts{Charged: 1, Sends: 2}, b.counts("R1"))

	other := b.do(http.MethodPost, "/v1/charges", "k1", fields{"reference": "R1", "amountMinor": 2000, "currency": "TRY"})
	require.Equal(t, http.StatusConflict, other.status)
	require.Contains(t, string(other.body), "idempotency_key_reused")
	require.Equal(t, 1, b.counts("R1").Charged)
}

func TestAKeyRepeatsDeclinesAndRefusalsToo(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.script("decline", "ok")
	first := b.charge("R1", "k1")
	require.Equal(t, pspsim.StatusDeclined, decode[pspsim.Movement](t, first).Status)
	require.Equal(t, first.body, b.charge("R1", "k1").body)

	b.script("refuse", "ok")
	first = b.charge("R2", "k2")
	require.Equal(t, http.StatusUnprocessableEntity, first.status)
	require.Equal(t, first.body, b.charge("R2", "k2").body)
	require.Equal(t, pspsim.Counts{Sends: 2}, b.counts("R2"))
}

func TestSimultaneousRequestsWithOneKeyWaitForTheFirst(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.script("delay_before:100ms", "ok", "ok", "ok", "ok", "ok", "ok", "ok")
	replies := make([]reply, 8)
	var posts sync.WaitGroup
	for i := range replies {
		posts.Go(func() { replies[i] = b.charge("R1", "k1") })
	}
	posts.Wait()
	for _, r := range replies {
		require.Equal(t, http.StatusCreated, r.status)
		require.Equal(t, replies[0].body, r.body)
	}
	require.Equal(t, pspsim.Counts{Charged: 1, Sends: 8}, b.counts("R1"))
}

func TestWithoutKeysEveryRequestIsANewCharge(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.faults(pspsim.Faults{Keys: pspsim.KeysOff})
	for range 2 {
		require.Equal(t, http.StatusCreated, b.charge("R1", "k1").status)
	}
	require.Equal(t, 2, b.counts("R1").Charged, "the double that the oracle is there to see")
	require.Len(t, b.find("R1"), 2)
	require.Equal(t, int64(2000), b.server.Oracle().Totals["TRY"].Charged)
}

func TestAForgottenKeyIsANewCharge(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.faults(pspsim.Faults{Keys: pspsim.KeysForgetAfter, ForgetAfter: pspsim.Duration(200 * time.Millisecond)})
	first := b.charge("R1", "k1")
	b.eventually(func() bool { return string(b.charge("R1", "k1").body) != string(first.body) })
	require.Equal(t, 2, b.counts("R1").Charged)
}

func TestEachFaultDoesWhatItSaysAndNoMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		step    string
		status  int // 0 is a cut
		charged int
	}{
		{"ok", 201, 1},
		{"decline", 201, 0},
		{"refuse", 422, 0},
		{"cut_before", 0, 0},
		{"cut_after", 0, 1},
		{"cut_inside", 0, 1},
		{"error_5xx", 502, 0},
		{"error_5xx_after", 502, 1},
		{"too_many", 429, 0},
		{"delay_before:1ms+delay_after:1ms+cut_after", 0, 1},
	} {
		t.Run(c.step, func(t *testing.T) {
			t.Parallel()
			b := start(t, pspsim.Options{})
			b.script(c.step)
			r := b.charge("R1", "k1")
			require.Equal(t, c.status == 0, r.cut, "%+v", r)
			if c.status != 0 {
				require.Equal(t, c.status, r.status)
			}
			require.Equal(t, pspsim.Counts{Charged: c.charged, Sends: 1}, b.counts("R1"))
		})
	}
}

func TestAPendingChargeComesToItsEndAndTheInquiryShowsIt(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	b.faults(pspsim.Faults{Rates: pspsim.Rates{Pending: 1, PendingMS: 100}})
	first := b.charge("R1", "k1")
	require.Equal(t, pspsim.StatusPending, decode[pspsim.Movement](t, first).Status)
	b.eventually(func() bool { return b.find("R1")[0].Status == pspsim.StatusCaptured })
	require.Equal(t, 1, b.counts("R1").Charged)
	require.Equal(t, first.body, b.charge("R1", "k1").body, "a key repeats the first answer, not the latest")

	b.faults(pspsim.Faults{Rates: pspsim.Rates{Pending: 1, PendingMS: 100, PendingDecline: 1}})
	b.charge("R2", "k2")
	b.eventually(func() bool { return b.find("R2")[0].Status == pspsim.StatusDeclined })
	require.Zero(t, b.counts("R2").Charged)
}

func TestWellKnownTokensBehaveAlike(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	for token, status := range map[string]int{"tok_decline": 201, "tok_refuse": 422, "tok_pending": 201} {
		r := b.do(http.MethodPost, "/v1/charges", "", fields{"reference": token, "amountMinor": 1, "currency": "TRY", "paymentMethod": token})
		require.Equal(t, status, r.status, token)
		require.Zero(t, b.counts(token).Charged, token)
	}
}

func TestARequestThatMakesNoSenseMovesNothing(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	for name, body := range map[string]any{
		"no reference":     fields{"amountMinor": 1, "currency": "TRY"},
		"no amount":        fields{"reference": "R", "currency": "TRY"},
		"a negative":       fields{"reference": "R", "amountMinor": -1, "currency": "TRY"},
		"a fraction":       fields{"reference": "R", "amountMinor": 1.5, "currency": "TRY"},
		"no currency":      fields{"reference": "R", "amountMinor": 1},
		"text":             "charge me",
		"beyond the limit": fields{"reference": strings.Repeat("x", 70_000)},
	} {
		require.Equal(t, http.StatusBadRequest, b.do(http.MethodPost, "/v1/charges", "", body).status, name)
	}
	require.Empty(t, b.server.Oracle().References)
}
