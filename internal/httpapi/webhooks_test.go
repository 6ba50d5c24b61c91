package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/webhook"
)

const (
	oldSecret   = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	newSecret   = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
	otherSecret = "whsec_plJ3nmyCDGBKInavdOK15jsl4BK7fBNu"
	webhookBody = `{"type":"charge.captured","timestamp":"2026-01-01T00:00:00Z","data":{}}`
)

// hook is the door for webhooks of the account card, whose secret is being replaced.
// The account card-b has none.
type hook struct {
	t      *testing.T
	pool   *pgxpool.Pool
	server *httptest.Server
}

func newHook(t *testing.T, pool *pgxpool.Pool) hook {
	t.Helper()
	connector, err := simulated.New(simulated.Full, "http://127.0.0.1:1", simulated.Options{})
	require.NoError(t, err)
	receiver := webhook.NewReceiver(pool, map[string]webhook.Source{
		"card": {Notifier: connector, Secrets: []string{oldSecret, newSecret}}, "card-b": {Notifier: connector},
	}, time.Now, zap.NewNop())
	server := httptest.NewServer(New(Config{Pool: pool, Webhooks: receiver, Log: zap.NewNop()}))
	t.Cleanup(server.Close)
	return hook{t: t, pool: pool, server: server}
}

func (h hook) posts(account string, header http.Header, body []byte) answer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.server.URL+"/v1/providers/"+account+"/webhooks", bytes.NewReader(body))
	require.NoError(h.t, err)
	r.Header = header
	return (&door{client: h.server.Client()}).send(h.t, r)
}

func (h hook) stored() int {
	h.t.Helper()
	var n int
	require.NoError(h.t, h.pool.QueryRow(h.t.Context(), "SELECT count(*) FROM provider_event").Scan(&n))
	return n
}

// with returns the header with a line set, or added to what is there.
func with(header http.Header, name string, lines ...string) http.Header {
	header = header.Clone()
	header[name] = lines
	return header
}

func TestU8_AWebhookIsTakenByItsSignatureAloneAndElseNothingIsStored(t *testing.T) {
	t.Parallel()
	h := newHook(t, testkit.NewDatabase(t).App)
	body, now := []byte(webhookBody), time.Now()
	good := pspsim.Sign(newSecret, "evt_1", now, body)
	signature, foreign := good.Get("Webhook-Signature"), pspsim.Sign(otherSecret, "evt_1", now, body).Get("Webhook-Signature")
	for name, c := range map[string]struct {
		account string
		header  http.Header
		body    []byte
		status  int
		problem string
	}{
		"no signature":             {"card", http.Header{}, body, 401, "webhook-not-signed"},
		"another secret":           {"card", pspsim.Sign(otherSecret, "evt_1", now, body), body, 401, "webhook-not-signed"},
		"one byte more":            {"card", good, append(bytes.Clone(body), ' '), 401, "webhook-not-signed"},
		"one byte changed":         {"card", good, bytes.Replace(body, []byte("2026"), []byte("2027"), 1), 401, "webhook-not-signed"},
		"another id":               {"card", with(good, "Webhook-Id", "evt_2"), body, 401, "webhook-not-signed"},
		"another time":             {"card", with(good, "Webhook-Timestamp", "1"), body, 401, "webhook-not-signed"},
		"another version":          {"card", with(good, "Webhook-Signature", "v2"+signature[2:]), body, 401, "webhook-not-signed"},
		"signatures in two lines":  {"card", with(good, "Webhook-Signature", signature, signature), body, 401, "webhook-not-signed"},
		"ids in two lines":         {"card", with(good, "Webhook-Id", "evt_1", "evt_1"), body, 401, "webhook-not-signed"},
		"too old":                  {"card", pspsim.Sign(newSecret, "evt_1", now.Add(-6*time.Minute), body), body, 400, "webhook-too-old"},
		"from the future":          {"card", pspsim.Sign(newSecret, "evt_1", now.Add(6*time.Minute), body), body, 400, "webhook-too-old"},
		"an account without":       {"card-b", good, body, 404, "not-found"},
		"an account that is none":  {"nobody", good, body, 404, "not-found"},
		"a body beyond the limit":  {"card", good, make([]byte, webhook.BodyBytesMax+1), 413, "body-too-large"},
		"only a foreign signature": {"card", with(good, "Webhook-Signature", foreign), body, 401, "webhook-not-signed"},
	} {
		a := h.posts(c.account, c.header, c.body)
		require.Equal(t, c.status, a.status, "%s: %s", name, a.body)
		p := a.problem(t)
		require.Equal(t, problem.Prefix+c.problem, p.Type, name)
		require.False(t, p.Retryable, name)
		require.Zero(t, h.stored(), name)
	}
	third := pspsim.Sign(newSecret, "evt_3", now, body)
	for name, header := range map[string]http.Header{
		"the newer secret": good,
		"the older secret": pspsim.Sign(oldSecret, "evt_2", now, body),
		"one of several":   with(third, "Webhook-Signature", foreign+" "+third.Get("Webhook-Signature")),
		"just young":       pspsim.Sign(newSecret, "evt_4", now.Add(-4*time.Minute), body),
	} {
		require.Equal(t, http.StatusOK, h.posts("card", header, body).status, name)
	}
	require.Equal(t, 4, h.stored())
}

func TestU8_ARepeatedWebhookIsAnsweredAndStoredOnce(t *testing.T) {
	t.Parallel()
	h := newHook(t, testkit.NewDatabase(t).App)
	body := []byte(webhookBody)
	first := pspsim.Sign(oldSecret, "evt_1", time.Now(), body)
	later := pspsim.Sign(newSecret, "evt_1", time.Now().Add(time.Minute), body)
	answers := atOnce(t, 20, func(i int) answer {
		if i%2 == 0 {
			return h.posts("card", first, body)
		}
		return h.posts("card", later, body)
	})
	for _, a := range answers {
		require.Equal(t, http.StatusOK, a.status)
	}
	require.Equal(t, 1, h.stored())
}

func TestU8_I14_WithoutPostgreSQLTheProviderIsToldToRepeat(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	wire, url := newWire(t, database.AppURL)
	h := newHook(t, openPool(t, url))
	header := pspsim.Sign(newSecret, "evt_1", time.Now(), []byte(webhookBody))
	wire.setDown(true)
	h.posts("card", header, []byte(webhookBody)).requireUnavailable(t)
	require.Equal(t, http.StatusUnauthorized, h.posts("card", http.Header{}, []byte(webhookBody)).status, "no database is asked about those")
	wire.setDown(false)
	for h.posts("card", header, []byte(webhookBody)).status != http.StatusOK { //nolint:revive // connections of the pool may be broken ones
	}
	require.Equal(t, 1, h.stored())
}

func TestU8_AFloodOfWebhooksIsRefusedAndLeavesTheMerchantsAlone(t *testing.T) {
	t.Parallel()
	a := &api{Config: Config{Log: zap.NewNop()}, inFlight: make(chan struct{}, 1), webhooksInFlight: make(chan struct{}, 1)}
	a.webhooksInFlight <- struct{}{}
	answered := func(h http.Handler) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil))
		return w.Code
	}
	require.Equal(t, http.StatusServiceUnavailable, answered(bounded(a, a.webhooksInFlight, a.postWebhook)))
	require.Equal(t, http.StatusNotFound, answered(a.endpoint(notFound)))
}
