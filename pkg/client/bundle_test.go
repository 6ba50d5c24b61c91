package client_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/client"
	"github.com/payonce/payonce/pkg/money"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// quick repeats without the pauses that a person would not notice.
var quick = client.Retry{First: time.Millisecond, Longest: 20 * time.Millisecond, Within: time.Minute}

// shop is a merchant with a client that leads over a proxy to a real intake on a
// database of its own.
type shop struct {
	*testkit.Database
	*proxy
	apiKey string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	database := testkit.NewDatabase(t)
	environ := []string{
		"PAYONCE_DATABASE_URL=" + database.AppURL,
		"PAYONCE_HTTP_ADDR=127.0.0.1:0",
		"PAYONCE_ADMIN_ADDR=127.0.0.1:0",
		"PAYONCE_PROVIDER=card=simulated",
	}
	merchant, err := app.CreateMerchant(t.Context(), environ, "Test shop", "card")
	require.NoError(t, err)
	return &shop{Database: database, proxy: newProxy(t, startIntake(t, environ)), apiKey: merchant.APIKey}
}

// startIntake runs an intake until the test ends, and returns its address.
func startIntake(t *testing.T, environ []string) string {
	t.Helper()
	c, err := config.Load[config.Intake](slices.Clip(environ))
	require.NoError(t, err)
	ready, ended := make(chan struct{}), make(chan error, 1)
	core, logs := observer.New(zapcore.InfoLevel)
	log := zap.New(core, zap.Hooks(func(e zapcore.Entry) error {
		if e.Message == "ready" {
			close(ready)
		}
		return nil
	}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- app.Intake(ctx, c, log) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		require.FailNow(t, "the intake ended", err)
	}
	addr, ok := logs.FilterMessage("ready").All()[0].ContextMap()["http_addr"].(string)
	require.True(t, ok)
	return addr
}

// client is a new client, as a process has one.
func (s *shop) client(t *testing.T, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(s.url, s.apiKey, append([]client.Option{client.WithRetry(quick)}, options...)...)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// stored counts payments, operations, keys and waiting events of an invoice.
func (s *shop) stored(ctx context.Context, t require.TestingT, invoice string) []int {
	counts := make([]int, 3)
	err := s.App.QueryRow(ctx, `SELECT count(DISTINCT p.id), count(DISTINCT o.id), count(DISTINCT k.key)
		FROM payment p
		LEFT JOIN operation o ON o.payment_id = p.id
		LEFT JOIN idempotency_key k ON k.resource_id = p.id
		WHERE p.invoice_id = $1`, invoice).Scan(&counts[0], &counts[1], &counts[2])
	require.NoError(t, err)
	return counts
}

func order(t require.TestingT, invoice, amount string) client.PaymentRequest {
	parsed, err := money.Parse(amount, "TRY")
	require.NoError(t, err)
	return client.PaymentRequest{
		InvoiceID: invoice, PaymentType: "order", Amount: parsed, PaymentMethod: "tok_ok",
		Metadata: map[string]string{"cart": "7"},
	}
}
