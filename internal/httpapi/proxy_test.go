package httpapi

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// wire is a TCP way to PostgreSQL that a test can cut.
type wire struct {
	listener net.Listener
	target   string

	mu        sync.Mutex
	down      bool
	cutCommit bool // the next commit reaches the server, its answer no one
	conns     map[net.Conn]bool
	copies    sync.WaitGroup
}

// newWire returns a wire to the database and the URL that leads over it.
func newWire(t *testing.T, databaseURL string) (*wire, string) {
	t.Helper()
	address, err := url.Parse(databaseURL)
	require.NoError(t, err)
	w := &wire{target: address.Host, conns: map[net.Conn]bool{}}
	w.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address.Host = w.listener.Addr().String()
	w.copies.Go(w.serve)
	t.Cleanup(func() {
		_ = w.listener.Close()
		w.setDown(true)
		w.copies.Wait()
	})
	return w, address.String()
}

// setDown breaks all connections and refuses new ones, or lets them through again.
func (w *wire) setDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
	if down {
		for c := range w.conns {
			_ = c.Close()
		}
	}
}

// cutNextCommit loses the answer to one commit, which takes place.
func (w *wire) cutNextCommit() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cutCommit = true
}

func (w *wire) serve() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil || !w.admit(client, server) {
			_ = client.Close()
			continue
		}
		link := &link{wire: w, client: client, server: server}
		w.copies.Go(link.toServer)
		w.copies.Go(link.toClient)
	}
}

func (w *wire) admit(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		if w.down {
			_ = c.Close()
		} else {
			w.conns[c] = true
		}
	}
	return !w.down
}

// link is one connection over the wire.
type link struct {
	*wire
	client, server net.Conn
	mute           bool // guarded by mu
}

// commitQuery is a simple query as pgx sends it to end a transaction.
var commitQuery = []byte("commit\x00")

func (l *link) toServer() {
	defer l.server.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buffer)
		if bytes.Contains(buffer[:n], commitQuery) {
			l.mu.Lock()
			l.mute, l.cutCommit = l.cutCommit, false
			l.mu.Unlock()
		}
		if _, failed := l.server.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}

func (l *link) toClient() {
	defer l.client.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		l.mu.Lock()
		mute := l.mute
		l.mu.Unlock()
		if mute { // the server has answered, so the commit took place
			return
		}
		if _, failed := l.client.Write(buffer[:n]); failed != nil || err != nil {
			return
		}
	}
}
