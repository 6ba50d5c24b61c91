package app_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is a TCP way to PostgreSQL that can break, or carry nothing any more.
type wire struct {
	address, target string
	copies          sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	conns    map[net.Conn]bool
	silent   bool
}

// wired leads the bundle's services to their database over a wire.
func (b *bundle) wired(t *testing.T) *wire {
	t.Helper()
	database, err := url.Parse(b.AppURL)
	require.NoError(t, err)
	w := &wire{target: database.Host, address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	w.restore(t)
	t.Cleanup(func() {
		w.cut(t)
		w.copies.Wait()
	})
	database.Host = w.address
	b.environ = append(b.environ, "PAYONCE_DATABASE_URL="+database.String())
	return w
}

// cut breaks all connections and refuses new ones, as a server that was stopped.
func (w *wire) cut(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = w.listener.Close()
	for c := range w.conns {
		_ = c.Close()
	}
}

// restore lets everything through again, at the same address.
func (w *wire) restore(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", w.address)
	require.NoError(t, err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listener, w.address, w.silent, w.conns = listener, listener.Addr().String(), false, map[net.Conn]bool{}
	w.copies.Go(func() { w.serve(listener) })
}

// silence swallows what comes, as a host that is gone: new connections are taken,
// and nobody answers on them.
func (w *wire) silence() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.silent = true
}

func (w *wire) serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			_ = client.Close()
			continue
		}
		w.mu.Lock()
		w.conns[client], w.conns[server] = true, true
		w.mu.Unlock()
		w.copies.Go(func() { w.carry(client, server) })
		w.copies.Go(func() { w.carry(server, client) })
	}
}

func (w *wire) carry(from, to net.Conn) {
	defer to.Close()
	_, _ = io.Copy(&mutable{wire: w, Conn: to}, from)
}

// mutable drops what is written while the wire is silent.
type mutable struct {
	net.Conn
	wire *wire
}

func (m *mutable) Write(bytes []byte) (int, error) {
	m.wire.mu.Lock()
	silent := m.wire.silent
	m.wire.mu.Unlock()
	if silent {
		return len(bytes), nil
	}
	return m.Conn.Write(bytes)
}
