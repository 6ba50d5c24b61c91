package client_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/pkg/client"
)

// A connection is there from an earlier request. The payment is taken on over it, and
// it breaks before the answer. If net/http sent the request again by itself, only the
// answer to that one would be seen: a 401, and a client that says "nothing was taken on".
func TestP3_NoRequestIsSentAgainBehindTheClientsBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var posts atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			s.ServeHTTP(w, r)
		case posts.Add(1) == 1:
			s.ServeHTTP(httptest.NewRecorder(), r)
			reset(t, w)
		default:
			refuse(w, http.StatusUnauthorized, "unauthorized", false)
		}
	}))
	t.Cleanup(front.Close)
	c, err := client.New(front.URL, s.apiKey, client.WithRetry(quick))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.List(t.Context(), client.Filter{}, client.Page{})
	require.NoError(t, err)

	_, err = c.Submit(t.Context(), client.NewIntent(), order(t, "INV-1", "10.00"))
	require.ErrorIs(t, err, client.ErrUnresolved)
	require.EqualValues(t, 2, posts.Load())
	require.Equal(t, once, s.stored(t.Context(), t, "INV-1"))
}

// reset breaks the connection without a word, as a crash or a firewall does.
func reset(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
