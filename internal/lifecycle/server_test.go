package lifecycle_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/lifecycle"
)

// serve runs a server and returns its address, and a function that stops it and
// returns what it ended with.
func serve(t *testing.T, server *http.Server) (string, func() error) {
	t.Helper()
	listener, err := lifecycle.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- lifecycle.Run(ctx, lifecycle.Server("http", listener, server)) }()
	return "http://" + listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	status, body, err := fetch(url)
	require.NoError(t, err)
	return status, body
}

func fetch(url string) (int, string, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(url)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

func TestAServerLetsRequestsInHandEnd(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		_, _ = io.WriteString(w, "done")
	})}
	shuttingDown := make(chan struct{})
	server.RegisterOnShutdown(func() { close(shuttingDown) })
	address, stop := serve(t, server)
	var both errgroup.Group
	var body string
	both.Go(func() (err error) {
		_, body, err = fetch(address)
		return err
	})
	<-arrived
	both.Go(stop)
	<-shuttingDown
	close(release)
	require.NoError(t, both.Wait())
	require.Equal(t, "done", body)
}

func TestAServerWhoseListenerBreaksEnds(t *testing.T) {
	t.Parallel()
	listener, err := lifecycle.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	err = lifecycle.Run(t.Context(), lifecycle.Server("http", listener, &http.Server{}))
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestAnAddressThatIsTakenIsAnErrorAtStart(t *testing.T) {
	t.Parallel()
	first, err := lifecycle.Listen(t.Context(), "127.0.0.1:0")
	require.NoError(t, err)
	defer first.Close()
	_, err = lifecycle.Listen(t.Context(), first.Addr().String())
	require.ErrorContains(t, err, "address already in use")
}

func TestO5_LivenessSaysNothingAboutOthers(t *testing.T) {
	t.Parallel()
	down := lifecycle.Check{Name: "database", Ask: func(context.Context) error { return errors.New("connection refused") }}
	fine := lifecycle.Check{Name: "topics", Ask: func(context.Context) error { return nil }}
	address, stop := serve(t, lifecycle.Admin(down, fine))
	status, body := get(t, address+"/livez")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
	status, body = get(t, address+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "database: connection refused\n", body)
	require.NoError(t, stop())
}

func TestO5_ReadyMeansThatEveryCheckSaysSo(t *testing.T) {
	t.Parallel()
	fine := lifecycle.Check{Name: "database", Ask: func(context.Context) error { return nil }}
	address, stop := serve(t, lifecycle.Admin(fine, fine))
	status, body := get(t, address+"/readyz")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ok\n", body)
	require.NoError(t, stop())
}

func TestO5_ACheckThatHangsIsNotReady(t *testing.T) {
	t.Parallel()
	hangs := lifecycle.Check{Name: "database", Ask: func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	address, stop := serve(t, lifecycle.Admin(hangs))
	status, body := get(t, address+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "database: context deadline exceeded\n", body)
	require.NoError(t, stop())
}
