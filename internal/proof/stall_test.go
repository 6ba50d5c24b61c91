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

// moment is where a stall stops a process: at the commit of the first transaction
// that holds a statement.
type moment struct {
	statement string
	// before holds back the commit itself, which then never arrives. Otherwise it takes
	// place, and its answer is held back: the process does not know yet.
	before bool
}

// stall stands between one process and PostgreSQL and stops it at a moment.
type stall struct {
	moment
	url      string
	target   string
	reached  chan struct{}
	released chan struct{}
	release  func()
	found    sync.Once

	mu    sync.Mutex
	conns []net.Conn
}

func newStall(t *testing.T, databaseURL string, at moment) *stall {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	parsed, err := url.Parse(databaseURL)
	require.NoError(t, err)
	target := parsed.Host
	parsed.Host = listener.Addr().String()
	s := &stall{moment: at, url: parsed.String(), target: target, reached: make(chan struct{}), released: make(chan struct{})}
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

func (s *stall) await(t *testing.T) {
	t.Helper()
	select {
	case <-s.reached:
	case <-time.After(patience):
		t.Fatalf("nobody committed a transaction with %q", s.statement)
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
		carry(server, client, func([]byte) bool {
			if held.Load() {
				<-s.released
			}
			return true
		})
	})
	inside := false
	carry(client, server, func(words []byte) bool {
		inside = inside || bytes.Contains(words, []byte(s.statement))
		first := false
		if inside && bytes.Contains(words, []byte("commit\x00")) { // the whole query, not a word of a comment
			s.found.Do(func() {
				first = true
				held.Store(true) // before the commit leaves, so that its answer cannot pass
				close(s.reached)
			})
		}
		if first && s.before {
			<-s.released
			return false
		}
		return true
	})
	_ = server.Close()
	answering.Wait()
}

// carry copies what comes, after telling what it is, until it is told to stop.
func carry(from, to net.Conn, tell func([]byte) bool) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if !tell(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
