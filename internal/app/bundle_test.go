package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// bundle is everything around the services of one test.
type bundle struct {
	*testkit.Database
	broker   testkit.Broker
	provider *pspsim.Server
	environ  []string
}

func newBundle(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Database: testkit.NewDatabase(t), broker: testkit.NewFakeBroker(t)}
	var err error
	b.provider, err = pspsim.New(pspsim.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(b.provider)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, b.provider.Close())
	})
	b.environ = []string{
		"PAYONCE_DATABASE_URL=" + b.AppURL,
		"PAYONCE_MIGRATE_DATABASE_URL=" + b.OwnerURL,
		"PAYONCE_KAFKA_BROKERS=" + b.broker.Addrs[0],
		"PAYONCE_HTTP_ADDR=127.0.0.1:0",
		"PAYONCE_ADMIN_ADDR=127.0.0.1:0",
		"PAYONCE_PROVIDER=card=simulated",
		"PAYONCE_PROVIDER_URL=" + server.URL,
	}
	return b
}

// serving is a service that a test has started.
type serving struct {
	fields map[string]any // of its "ready"
	logs   *observer.ObservedLogs
	stop   context.CancelFunc
	ended  <-chan error
}

// admin asks the service's admin server.
func (s serving) admin(t *testing.T, path string) (int, string) {
	t.Helper()
	addr, ok := s.fields["admin_addr"].(string)
	require.True(t, ok)
	return fetch(t, http.MethodGet, "http://"+addr+path, "", nil)
}

// start runs a service until the test ends and returns once it is ready.
func start[C config.Process[C]](t *testing.T, b *bundle, run func(context.Context, C, *zap.Logger) error, changes ...string) serving {
	t.Helper()
	c, err := config.Load[C](append(slices.Clip(b.environ), changes...))
	require.NoError(t, err)
	ready, ended := make(chan struct{}, 1), make(chan error, 1)
	core, logs := observer.New(zapcore.DebugLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if e.Message == "ready" {
			ready <- struct{}{}
		}
		return nil
	}))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- run(ctx, c, log)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	select {
	case <-ready:
	case err := <-ended:
		require.FailNow(t, "the service ended", err)
	}
	return serving{fields: logs.FilterMessage("ready").All()[0].ContextMap(), logs: logs, stop: cancel, ended: ended}
}

// client asks for payments as one merchant.
type client struct{ url, key string }

func newClient(t *testing.T, b *bundle, intake serving) client {
	t.Helper()
	merchant, err := app.CreateMerchant(t.Context(), b.environ, "Test shop", "card")
	require.NoError(t, err)
	addr, ok := intake.fields["http_addr"].(string)
	require.True(t, ok)
	return client{url: "http://" + addr + "/v1/payments", key: merchant.APIKey}
}

// pay posts a payment for an invoice, with a key that follows from it.
func (c client) pay(t *testing.T, invoice, amount string) (int, payment.View) {
	t.Helper()
	status, answer, err := c.insist(t.Context(), order(invoice, amount), c.header("key-"+invoice))
	require.NoError(t, err)
	var view payment.View
	if status == http.StatusAccepted || status == http.StatusCreated {
		require.NoError(t, json.Unmarshal(answer, &view))
	}
	return status, view
}

// insist posts until the intake answers: its 503 asks for the same request again, and
// a machine that is too busy says so where nothing is wrong. It may be called from any
// goroutine.
func (c client) insist(ctx context.Context, body string, header http.Header) (status int, answer []byte, err error) {
	for until := time.Now().Add(time.Minute); ; {
		response, err := send(ctx, http.MethodPost, c.url, body, header)
		if err != nil {
			return 0, nil, err
		}
		answer, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusServiceUnavailable || time.Now().After(until) {
			return response.StatusCode, answer, err
		}
	}
}

// order is the body of a request for a payment.
func order(invoice, amount string) string {
	return fmt.Sprintf(`{"invoiceId":%q,"paymentType":"order","amount":%q,"currency":"EUR","paymentMethod":"tok_ok"}`, invoice, amount)
}

func (c client) header(key string) http.Header {
	return http.Header{"Authorization": {"Bearer " + c.key}, "Idempotency-Key": {key}, "Content-Type": {"application/json"}}
}

func (c client) show(t *testing.T, id string) payment.View {
	t.Helper()
	status, answer := fetch(t, http.MethodGet, c.url+"/"+id, "", http.Header{"Authorization": {"Bearer " + c.key}})
	require.Equal(t, http.StatusOK, status, answer)
	var view payment.View
	require.NoError(t, json.Unmarshal([]byte(answer), &view))
	return view
}

func fetch(t *testing.T, method, url, body string, header http.Header) (int, string) {
	t.Helper()
	response, err := send(t.Context(), method, url, body, header)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer bytes.Buffer
	_, err = answer.ReadFrom(response.Body)
	require.NoError(t, err)
	return response.StatusCode, answer.String()
}

// send returns whatever is answered, or why nothing is. It may be called from any
// goroutine.
func send(ctx context.Context, method, url, body string, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header = header
	return (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
}

// useTopics gives the test's services topics of their own shape.
func (b *bundle) useTopics(t *testing.T, prefix string, partitions int32) {
	t.Helper()
	b.environ = append(b.environ, "PAYONCE_TOPIC_PREFIX="+prefix)
	b.broker.Topics = event.TopicsWithPrefix(prefix)
	_, err := app.CreateTopics(t.Context(), b.environ, partitions, 0)
	require.NoError(t, err)
}

// published returns once as many requests for payments are on the topic.
func (b *bundle) published(t *testing.T, requests int) {
	t.Helper()
	consumer := b.broker.Client(t, kgo.ConsumeTopics(b.broker.Topics.Requests), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for seen := 0; seen < requests; {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		seen += fetches.NumRecords()
	}
}

// captured consumes events until it has seen PaymentCaptured for as many payments.
func (b *bundle) captured(t *testing.T, payments int) map[string]event.Outcome {
	t.Helper()
	consumer := b.broker.Client(t, kgo.ConsumeTopics(b.broker.Topics.Events), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	seen := map[string]event.Outcome{}
	for len(seen) < payments {
		fetches := consumer.PollFetches(ctx)
		require.NoError(t, fetches.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if kind(r) == event.PaymentCaptured {
				var data event.Outcome
				require.NoError(t, json.Unmarshal(r.Value, &data))
				seen[data.PaymentID.String()] = data
			}
		})
	}
	return seen
}

func kind(r *kgo.Record) event.Type {
	for _, h := range r.Headers {
		if h.Key == "ce_type" {
			return event.Type(h.Value)
		}
	}
	return ""
}
