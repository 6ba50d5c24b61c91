package pspsim_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// ear hears webhooks and refuses the first ones of each event.
type ear struct {
	*httptest.Server
	mu      sync.Mutex
	refuses int
	seen    map[string]int // deliveries by event id
	taken   []pspsim.Event
}

func newEar(t *testing.T, refuses int) *ear {
	t.Helper()
	e := &ear{refuses: refuses, seen: map[string]int{}}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		defer e.mu.Unlock()
		id := r.Header.Get("Webhook-Id")
		e.seen[id]++
		if e.seen[id] <= e.refuses {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		var event pspsim.Event
		if json.Unmarshal(body, &event) == nil {
			e.taken = append(e.taken, event)
		}
	}))
	t.Cleanup(e.Close)
	return e
}

func (e *ear) types() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	types := make([]string, len(e.taken))
	for i, event := range e.taken {
		types[i] = event.Type
	}
	return types
}

func (b *bundle) tells(w pspsim.Webhooks) {
	b.t.Helper()
	r := b.do(http.MethodPut, "/webhooks", "", w)
	require.Equal(b.t, http.StatusOK, r.status, "%s", r.body)
	require.NotContains(b.t, string(r.body), webhookSecret)
}

func TestAWebhookIsRepeatedUntilItIsTaken(t *testing.T) {
	t.Parallel()
	e := newEar(t, 3)
	b := start(t, pspsim.Options{})
	b.tells(pspsim.Webhooks{URL: e.URL, Secret: webhookSecret})
	b.charge("r1", "k1")
	b.charge("r1", "k1") // a replay is no news
	b.eventually(func() bool { return len(e.types()) == 1 })
	require.Equal(t, map[string]int{"evt_ch_000000000001_captured": 4}, e.seen)
	require.Equal(t, "r1", e.taken[0].Data.Reference)
}

func TestWhatHappensToAMovementLaterIsToldToo(t *testing.T) {
	t.Parallel()
	e := newEar(t, 0)
	b := start(t, pspsim.Options{})
	b.faults(pspsim.Faults{Rates: pspsim.Rates{Pending: 1, PendingMS: 50}})
	b.tells(pspsim.Webhooks{URL: e.URL, Secret: webhookSecret, BeforeAnswer: true})
	b.charge("r1", "k1")
	b.eventually(func() bool { return len(e.types()) == 2 }) // and nobody asked
	b.closeDoor("r1")
	b.eventually(func() bool { return len(e.types()) == 3 })
	require.Equal(t, []string{"charge.pending", "charge.captured", "charge.voided"}, e.types())
}

func TestWebhooksComeBeforeTheAnswerInCopiesAndOutOfOrder(t *testing.T) {
	t.Parallel()
	e := newEar(t, 0)
	b := start(t, pspsim.Options{Seed: 7})
	b.tells(pspsim.Webhooks{URL: e.URL, Secret: webhookSecret, BeforeAnswer: true})
	b.charge("r0", "k0")
	require.Len(t, e.types(), 1, "it was there before the answer")

	b.tells(pspsim.Webhooks{URL: e.URL, Secret: webhookSecret, Copies: 2, Spread: pspsim.Duration(300 * time.Millisecond)})
	for _, reference := range []string{"r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8"} {
		b.charge(reference, reference)
	}
	b.eventually(func() bool { return len(e.types()) == 1+8*3 })
	var order []string
	for _, event := range e.taken[1:] {
		order = append(order, event.Data.ID)
	}
	require.False(t, slices.IsSorted(order), "events overtake each other")
}

func TestWebhooksThatNobodyTakesKeepNoProviderFromStopping(t *testing.T) {
	t.Parallel()
	e := newEar(t, 1<<30)
	b := start(t, pspsim.Options{})
	b.tells(pspsim.Webhooks{URL: e.URL, Secret: webhookSecret, BeforeAnswer: true})
	answered := make(chan reply, 1)
	go func() { answered <- b.charge("r1", "k1") }()
	b.eventually(func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		return len(e.seen) == 1
	})
	b.stop()
	<-answered
}

func TestWebhooksThatCannotBeSentAreRefused(t *testing.T) {
	t.Parallel()
	b := start(t, pspsim.Options{})
	for _, w := range []pspsim.Webhooks{
		{URL: "127.0.0.1:1", Secret: webhookSecret}, {URL: "http://127.0.0.1:1"}, {URL: "http://127.0.0.1:1", Secret: "whsec_AAAA"},
		{URL: "http://127.0.0.1:1", Secret: webhookSecret, Copies: 101},
	} {
		require.Equal(t, http.StatusBadRequest, b.do(http.MethodPut, "/webhooks", "", w).status)
	}
	require.Equal(t, http.StatusBadRequest, b.do(http.MethodPut, "/webhooks", "", fields{"urll": "x"}).status)
	require.JSONEq(t, "{}", string(b.do(http.MethodGet, "/webhooks", "", nil).body))
}
