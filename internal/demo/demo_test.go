package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/testkit"
)

// TestMain makes this test binary the program that runs a service, too.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "service" {
		os.Exit(app.Main(os.Args[2]))
	}
	testkit.Main(m)
}

func run(t *testing.T, o Options) (Report, string) {
	t.Helper()
	var out bytes.Buffer
	o.Seed, o.JSON, o.Program, o.Out, o.Log = 7, true, os.Args[0], &out, zap.NewNop()
	o.Database = testkit.SuperuserURL(t)
	r, err := Run(t.Context(), o)
	require.NoError(t, err, out.String())
	// Without a terminal there is nothing in it that a log could not show.
	require.NotRegexp(t, `[\x00-\x08\x0b-\x1f\x7f]`, out.String())
	return r, out.String()
}

func TestEveryPromiseHoldsWhileServicesAreKilledAndProvidersFail(t *testing.T) {
	const payments = 300
	r, out := run(t, Options{Payments: payments, Broker: testkit.RealBroker(t).Addrs[0]})
	require.Empty(t, r.Broken(), out)
	require.Contains(t, out, "killed a worker")
	require.Contains(t, out, "killed a relay")
	require.Equal(t, payments, r.Accepted)
	require.Equal(t, r.Captured, r.ProviderCharges)
	require.Greater(t, r.Requests, payments)
	require.Positive(t, r.Refunds, out)
	require.Positive(t, r.Canceled, out)

	lines := strings.Split(strings.TrimSpace(out), "\n")
	var told map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &told))
	require.Len(t, told, 19)
	for _, field := range []string{
		"accepted", "requests", "captured", "failed", "unknown_open", "sends", "takeovers", "provider_charges", "double_charges", "lost",
		"ledger_sum", "events_published", "events_invalid", "billed", "seconds", "canceled", "refunds", "double_refunds", "lost_refunds",
	} {
		require.Contains(t, told, field)
	}
}

func TestAProviderThatLiesMakesTheDemoReportDoubles(t *testing.T) {
	r, out := run(t, Options{Payments: 500, Sabotage: FalseCapabilities})
	require.Positive(t, r.DoubleCharges, out)
	require.Contains(t, r.Broken(), "P1")
	require.Zero(t, r.Lost, out)
}

func TestADemoThatIsStoppedLeavesNoDatabaseBehind(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out := &stopper{at: "posted", stop: cancel}
	_, err := Run(ctx, Options{
		Payments: 100_000, Program: os.Args[0], Out: out, Log: zap.NewNop(), Database: testkit.SuperuserURL(t),
	})
	require.ErrorIs(t, err, context.Canceled)
	superuser, err := pgx.Connect(t.Context(), testkit.SuperuserURL(t))
	require.NoError(t, err)
	defer superuser.Close(t.Context())
	var left int
	require.NoError(t, superuser.QueryRow(t.Context(),
		"SELECT count(*) FROM pg_database WHERE datname ~ '^(payonce|billing)_demo_'").Scan(&left))
	require.Zero(t, left)
}

// stopper stops the demo once its output says something.
type stopper struct {
	at   string
	stop context.CancelFunc
}

func (s *stopper) Write(text []byte) (int, error) {
	if strings.Contains(string(text), s.at) {
		s.stop()
	}
	return len(text), nil
}

func TestAServiceThatEndsByItselfEndsTheDemo(t *testing.T) {
	var out bytes.Buffer
	_, err := Run(t.Context(), Options{
		Payments: 10, Program: "/bin/echo", Out: &out, Log: zap.NewNop(), Database: testkit.SuperuserURL(t),
	})
	require.ErrorContains(t, err, "ended by itself; its last words:\nservice ")
}

func TestAServerThatPayonceWorksOnIsRefused(t *testing.T) {
	superuser, err := pgx.Connect(t.Context(), testkit.SuperuserURL(t))
	require.NoError(t, err)
	defer superuser.Close(t.Context())
	_, err = superuser.Exec(t.Context(), "CREATE DATABASE payonce_production OWNER payonce_owner")
	require.NoError(t, err)
	defer func() {
		_, err := superuser.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE payonce_production")
		require.NoError(t, err)
	}()
	err = refuseForeign(t.Context(), testkit.SuperuserURL(t))
	require.ErrorContains(t, err, "payonce_production")
}
