package proof_test

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stall stands between one process and PostgreSQL. It lets the commit of the first
// claim through and holds back the answer to it: the claim stands, and the process
// does not know yet.
type stall struct {
	url      string
	target   string
	claimed  chan struct{}
	released chan struct{}
	release  func()
	found    sync.Once

	mu    sync.Mutex
	conns []net.Conn
}

func newStall(t *testing.T, databaseURL string) *stall {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	parsed, err := url.Parse(databaseURL)
	require.NoError(t, err)
	target := parsed.Host
	parsed.Host = listener.Addr().String()
	s := &stall{url: parsed.String(), target: target, claimed: make(chan struct{}), released: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.released) })
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { s.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.release()
		s.mu.Lock()
		for _, conn := range s.conns {
			_ = conn.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

func (s *stall) awaitClaim(t *testing.T) {
	t.Helper()
	select {
	case <-s.claimed:
	case <-time.After(patience):
		t.Fatal("nothing was claimed")
	}
}

// serve carries one connection until either side ends it.
func (s *stall) serve(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", s.target)
	if err != nil {
		return
	}
	defer server.Close()
	s.mu.Lock()
	s.conns = append(s.conns, client, server)
	s.mu.Unlock()
	var held atomic.Bool
	var answering sync.WaitGroup
	answering.Go(func() {
		defer client.Close()
		carry(server, client, func([]byte) {
			if held.Load() {
				<-s.released
			}
		})
	})
	claims := false
	carry(client, server, func(words []byte) {
		claims = claims || bytes.Contains(words, []byte("SET state = 'processing'"))
		if claims && bytes.Contains(words, []byte("commit\x00")) { // the whole query, not a word of a comment
			s.found.Do(func() {
				held.Store(true) // before the commit leaves, so that its answer cannot pass
				close(s.claimed)
			})
		}
	})
	_ = server.Close()
	answering.Wait()
}

// carry copies what comes, after telling what it is.
func carry(from, to net.Conn, tell func([]byte)) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			tell(buffer[:n])
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
