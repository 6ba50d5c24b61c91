package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
)

func TestU10_ADriftScanIsShownThenDoneAndItsFindingsAreExplained(t *testing.T) {
	t.Parallel()
	database := testkit.NewDatabase(t)
	sim, err := pspsim.New(pspsim.Options{})
	require.NoError(t, err)
	server := httptest.NewServer(sim)
	t.Cleanup(func() {
		server.Close()
		require.NoError(t, sim.Close())
	})
	charge := httptest.NewRequest(http.MethodPost, "/v1/charges",
		strings.NewReader(`{"reference":"till 3","amountMinor":1999,"currency":"TRY","paymentMethod":"tok"}`))
	sim.ServeHTTP(httptest.NewRecorder(), charge)
	environ := []string{"PAYONCE_DATABASE_URL=" + database.AppURL, "PAYONCE_PROVIDER=card=simulated", "PAYONCE_PROVIDER_URL=" + server.URL}
	at := func(ahead time.Duration) string { return time.Now().UTC().Add(ahead).Format(time.RFC3339) }

	code, _, errOut := payctl(t, environ, "drift", "scan", "--account", "card", "--from", at(-time.Hour), "--to", at(0))
	require.Equal(t, app.ExitFailed, code)
	require.Contains(t, errOut, "refused: the window ends less than 10m0s ago")
	database.SetNow(t, time.Hour)
	window := []string{"drift", "scan", "--account", "card", "--from", at(-time.Hour), "--to", at(time.Minute)}
	code, out, errOut := payctl(t, environ, window...)
	require.Equal(t, app.ExitOK, code, errOut)
	require.Contains(t, out, "card (sim_1 at the provider)")
	require.Contains(t, out, rehearsed)
	_, out, _ = payctl(t, environ, "drift", "list")
	require.Equal(t, "no findings\n", out)

	code, out, errOut = payctl(t, environ, append(window, "--execute")...)
	require.Equal(t, app.ExitOK, code, errOut)
	require.Contains(t, out, "done: 1 movements on 1 pages; 0 became evidence, 0 operations were asked about, 1 findings are new")
	_, out, _ = payctl(t, environ, "drift", "list", "--output", "json")
	var page app.DriftPage
	require.NoError(t, json.Unmarshal([]byte(out), &page))
	require.Len(t, page.Findings, 1)
	require.Equal(t, "unasked", page.Findings[0].Kind)
	require.Equal(t, "19.99 TRY", page.Findings[0].Amount)

	explain := []string{"drift", "explain", page.Findings[0].ID.String(), "--reason", "the shop's till", "--by", "Ada"}
	code, out, errOut = payctl(t, environ, explain...)
	require.Equal(t, app.ExitOK, code, errOut)
	require.Contains(t, out, rehearsed)
	code, _, errOut = payctl(t, environ, append(explain, "--execute")...)
	require.Equal(t, app.ExitOK, code, errOut)
	_, out, _ = payctl(t, environ, "drift", "list")
	require.Equal(t, "no findings\n", out)
	_, out, _ = payctl(t, environ, "drift", "list", "--explained")
	require.Contains(t, out, "the shop's till")
	code, _, errOut = payctl(t, environ, "drift", "explain", uuid.NewString(), "--reason", "none")
	require.Equal(t, app.ExitFailed, code)
	require.Contains(t, errOut, "no such open finding")
}
