package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/client"
)

func TestTheAPIKeyLeavesThisMachineEncryptedOnly(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"https://pay.example", "https://pay.example/behind/a/path/", "http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080",
	} {
		_, err := client.New(url, "key")
		require.NoError(t, err, url)
	}
	for _, url := range []string{
		"", "pay.example", "ftp://pay.example", "http://pay.example", "http://localhost.example", "http://10.0.0.1",
		"https://user:password@pay.example", "https://pay.example?a=b", "https://pay.example#a", "https://", "://",
	} {
		_, err := client.New(url, "key")
		require.Error(t, err, url)
		require.NotContains(t, err.Error(), "password")
	}
	_, err := client.New("http://10.0.0.1", "key", client.WithPlaintext())
	require.NoError(t, err)
	_, err = client.New("https://pay.example", "")
	require.Error(t, err)
	_, err = client.New("https://pay.example", "key", client.WithRetry(client.Retry{}))
	require.Error(t, err)
}

func TestI19_NothingPrintsTheAPIKey(t *testing.T) {
	t.Parallel()
	c, err := client.New("https://pay.example", "must-not-be-seen")
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%v %+v %#v", c, *c, *c), "must-not-be-seen")
}

func TestRetryAfterIsWaitedForAndNeverBeyondTheEnd(t *testing.T) {
	t.Parallel()
	for name, header := range map[string]string{
		"seconds": "3600",
		"a date":  time.Now().Add(time.Hour).UTC().Format(http.TimeFormat),
	} {
		requests := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			w.Header().Set("Retry-After", header)
			refuse(w, http.StatusTooManyRequests, "rate-limited", true)
		}))
		t.Cleanup(server.Close)
		c, err := client.New(server.URL, "key")
		require.NoError(t, err)
		t.Cleanup(c.Close)
		_, err = c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
		var problem *client.ProblemError
		require.ErrorAs(t, err, &problem, name)
		require.NotErrorIs(t, err, client.ErrUnresolved, "a limit is in front of everything")
		require.InDelta(t, time.Hour, problem.RetryAfter, float64(time.Minute), name)
		require.Equal(t, 1, requests, "an hour is longer than the client may go on: %s", name)
	}
}

func TestRetryAfterIsTheEarliestRepeat(t *testing.T) {
	t.Parallel()
	var at []time.Time
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		at = append(at, time.Now())
		w.Header().Set("Retry-After", "1")
		if len(at) == 1 {
			refuse(w, http.StatusServiceUnavailable, "unavailable", true)
			return
		}
		refuse(w, http.StatusBadRequest, "invalid-request", false)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "key", client.WithRetry(quick))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved, "payonce does not know what became of the first one")
	require.Len(t, at, 2)
	require.GreaterOrEqual(t, at[1].Sub(at[0]), time.Second)
}

func TestI3_AClientThatWaitsAsksForAnAnswerThatIsHeldBack(t *testing.T) {
	t.Parallel()
	for asked, sent := range map[time.Duration]string{
		0: "", 900 * time.Millisecond: "", 5500 * time.Millisecond: "wait=5", time.Hour: "wait=30", -time.Second: "",
	} {
		var prefer string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			prefer = r.Header.Get("Prefer")
			refuse(w, http.StatusBadRequest, "invalid-request", false)
		}))
		t.Cleanup(server.Close)
		c, err := client.New(server.URL, "key")
		require.NoError(t, err)
		t.Cleanup(c.Close)
		_, err = c.Waiting(asked).Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
		require.Error(t, err)
		require.Equal(t, sent, prefer)
	}
}
