package httpapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// token is a provider's token that must never be seen outside its row.
const token = "tok_must_not_be_seen"

// door is the API over real HTTP and a database of its own, with one merchant.
type door struct {
	*testkit.Database
	url       string
	client    *http.Client
	directory *merchant.Directory
	rules     accept.Rules
	shop      merchant.Merchant
	key       string // the merchant's API key
	logs      *observer.ObservedLogs
	waiting   *WaitingRoom
	config    Config
	handler   http.Handler
}

func newDoor(t *testing.T) *door {
	t.Helper()
	database := testkit.NewDatabase(t)
	return openDoor(t, database, database.App)
}

// openDoor serves a database through a pool, which may lead there on its own way.
func openDoor(t *testing.T, database *testkit.Database, pool *pgxpool.Pool) *door {
	t.Helper()
	core, logs := observer.New(zapcore.DebugLevel)
	d := &door{
		Database: database, logs: logs, directory: merchant.NewDirectory(pool),
		rules: accept.Rules{Topic: event.TopicsWithPrefix("payonce").Requests, Source: event.Source("test")},
	}
	d.waiting = NewWaitingRoom(pool, zap.New(core))
	committer := accept.NewCommitter(pool, d.rules)
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { committer.Run(ctx) })
	parts.Go(func() { d.waiting.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		parts.Wait()
	})
	amendments := accept.NewAmendments(accept.AmendmentRules{Pool: pool, Topics: event.TopicsWithPrefix("payonce"), Source: d.rules.Source})
	d.config = Config{Pool: pool, Merchants: d.directory, Committer: committer, Amendments: amendments, Waiting: d.waiting, Log: zap.New(core)}
	d.handler = New(d.config)
	server := d.serve(t, func(*http.Server) {})
	d.url, d.client = server.URL, server.Client()
	d.client.Transport.(*http.Transport).MaxIdleConnsPerHost = 128
	d.shop, d.key = d.merchant(t)
	return d
}

// serve listens with the bounds of the service, changed as a test wants them.
func (d *door) serve(t *testing.T, change func(*http.Server)) *httptest.Server {
	t.Helper()
	config, err := NewServer(d.handler, zap.NewNop())
	require.NoError(t, err)
	change(config)
	server := httptest.NewUnstartedServer(nil)
	server.Config = config
	server.Start()
	t.Cleanup(server.Close)
	return server
}

func (d *door) merchant(t *testing.T) (merchant.Merchant, string) {
	t.Helper()
	created, key, err := merchant.NewDirectory(d.App).Create(t.Context(), t.Name(), "simulated")
	require.NoError(t, err)
	return created, key
}

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// view reads the answer as a payment.
func (a answer) view(t *testing.T) payment.View {
	t.Helper()
	require.Equal(t, "application/json", a.header.Get("Content-Type"), "%d %s", a.status, a.body)
	var v payment.View
	require.NoError(t, json.Unmarshal(a.body, &v))
	return v
}

// problem reads the answer as a problem document.
func (a answer) problem(t *testing.T) problem.Document {
	t.Helper()
	require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), "%d %s", a.status, a.body)
	var p problem.Document
	require.NoError(t, json.Unmarshal(a.body, &p))
	require.Equal(t, a.status, p.Status)
	require.NotEmpty(t, p.Title)
	return p
}

// request is a payment request, not sent yet.
func (d *door) request(t *testing.T, key, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, d.url+"/v1/payments", strings.NewReader(body))
	r.RequestURI = "" // it goes out
	r.Header.Set("Authorization", "Bearer "+d.key)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	return r
}

// post sends a payment request, changed as a test wants it.
func (d *door) post(t *testing.T, key, body string, changes ...func(*http.Request)) answer {
	t.Helper()
	r := d.request(t, key, body)
	for _, change := range changes {
		change(r)
	}
	return d.send(t, r)
}

func (d *door) get(t *testing.T, path, apiKey string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+apiKey)
	return d.send(t, r)
}

// send is called from many goroutines, so it fails the test without ending it.
func (d *door) send(t *testing.T, r *http.Request) answer {
	t.Helper()
	response, err := d.client.Do(r)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	a := answer{response.StatusCode, response.Header, body}
	conforms(t, r, a)
	return a
}

// order is the body of a payment request.
func order(invoice, amount string) string {
	return `{"invoiceId":"` + invoice + `","paymentType":"invoice","amount":` + amount + `,"currency":"TRY","paymentMethod":"` + token + `"}`
}

// stored counts the rows of each table that accepting writes.
func (d *door) stored(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range []string{"idempotency_key", "invoice_identity", "payment", "operation", "payment_history", "outbox"} {
		var n int
		require.NoError(t, d.App.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
		counts[table] = n
	}
	return counts
}

// payments is what stored counts when there are n payments and nothing else.
func payments(n int) map[string]int {
	return map[string]int{
		"idempotency_key": n, "invoice_identity": n, "payment": n, "operation": n, "payment_history": n, "outbox": n,
	}
}

// openPool opens a pool as a service does.
func openPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.Open(t.Context(), url, postgres.PoolOptions{ConnsMax: accept.ConnsMax + 2})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func location(id uuid.UUID) string { return "/v1/payments/" + id.String() }
