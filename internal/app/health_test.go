package app_test

import (
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
)

// requireHealthy asks until the service is ready, as serving.becomes does.
func requireHealthy(t *testing.T, s app.Service, environ []string) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Health(t.Context(), environ, "readyz") == nil }, time.Minute, 10*time.Millisecond)
}

func TestO5_TheHealthCommandAsksTheServiceThatRuns(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := "PAYONCE_TOPIC_PREFIX=other" // whose topics are missing
	started := start(t, b, app.Relay, other)
	addr, ok := started.fields["admin_addr"].(string)
	require.True(t, ok)
	relay, ok := app.Find("relay")
	require.True(t, ok)
	environ := append(slices.Clip(b.environ), other, "PAYONCE_ADMIN_ADDR="+addr)

	require.NoError(t, relay.Health(t.Context(), environ))
	require.NoError(t, relay.Health(t.Context(), environ, "livez"))
	started.becomes(t, http.StatusServiceUnavailable, "topics: missing: other.requests")
	err := relay.Health(t.Context(), environ, "readyz")
	require.ErrorContains(t, err, "503 Service Unavailable: ")
	require.Equal(t, app.ExitFailed, app.ExitCode(err))
	err = relay.Health(t.Context(), environ, "health")
	require.ErrorContains(t, err, "404")

	_, err = app.CreateTopics(t.Context(), environ, 4, 0)
	require.NoError(t, err)
	requireHealthy(t, relay, environ)

	started.stop()
	require.NoError(t, <-started.ended)
	err = relay.Health(t.Context(), environ)
	require.Equal(t, app.ExitUnavailable, app.ExitCode(err), err)
}

func TestTheHealthCommandFindsAServiceThatListensEverywhere(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	started := start(t, b, app.Intake, "PAYONCE_ADMIN_ADDR=:0")
	addr, ok := started.fields["admin_addr"].(string)
	require.True(t, ok)
	_, port, err := net.SplitHostPort(addr)
	require.NoError(t, err)
	intake, ok := app.Find("intake")
	require.True(t, ok)
	for _, everywhere := range []string{":", "0.0.0.0:"} {
		requireHealthy(t, intake, append(b.environ, "PAYONCE_ADMIN_ADDR="+everywhere+port))
	}
}

func TestTheHealthCommandRefusesWhatItCannotAsk(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake, ok := app.Find("intake")
	require.True(t, ok)
	require.ErrorContains(t, intake.Health(t.Context(), b.environ), "127.0.0.1:0 is any free port")
	err := intake.Health(t.Context(), append(b.environ, "PAYONCE_ADMIN_ADDR=9080"))
	require.Equal(t, app.ExitConfiguration, app.ExitCode(err))
	require.Equal(t, app.ExitUsage, app.Main("intake", "start"))
	require.Equal(t, app.ExitUsage, app.Main("intake", "health", "livez", "readyz"))
}
