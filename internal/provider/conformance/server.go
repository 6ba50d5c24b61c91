package conformance

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Server is a provider that misbehaves on the socket: its behaviour decides about
// each byte of each connection. It counts every request of which a byte arrived.
type Server struct {
	listener net.Listener
	behave   func(*Conn)
	handlers sync.WaitGroup
	done     chan struct{}

	mu       sync.Mutex
	arrivals int
	accepted int
	conns    map[net.Conn]struct{}
}

// NewServer starts a server on the loopback interface; behave is run for every
// connection and may run for several at once. The server ends with the test.
func NewServer(t testing.TB, behave func(*Conn)) *Server {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &Server{listener: listener, behave: behave, done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	s.handlers.Go(s.accept)
	t.Cleanup(s.Close)
	return s
}

// URL is where the server listens, also after StopListening.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// StopListening refuses new connections and leaves the open ones.
func (s *Server) StopListening() { _ = s.listener.Close() }

// Arrivals returns how many requests arrived so far, in whole or in part.
func (s *Server) Arrivals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrivals
}

// Accepted returns how many connections were accepted.
func (s *Server) Accepted() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// Close ends every connection and waits for their behaviours to return.
func (s *Server) Close() {
	s.mu.Lock()
	select {
	case <-s.done:
	default:
		close(s.done)
	}
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	_ = s.listener.Close()
	s.handlers.Wait()
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.handlers.Go(func() { s.handle(conn) })
	}
}

func (s *Server) handle(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	s.accepted++
	s.conns[conn] = struct{}{}
	s.mu.Unlock()
	select {
	case <-s.done: // accepted while Close went through the others
		return
	default:
	}
	s.behave(&Conn{conn: conn, reader: bufio.NewReader(conn), server: s})
}

// Conn is one connection, as a behaviour sees it. When the behaviour returns, the
// connection is closed in the ordinary way.
type Conn struct {
	conn   net.Conn
	reader *bufio.Reader
	server *Server
}

// Started waits for the first byte of a request and counts its arrival. It reports
// false when the connection ends instead.
func (c *Conn) Started() bool {
	if _, err := c.reader.Peek(1); err != nil {
		return false
	}
	c.server.mu.Lock()
	c.server.arrivals++
	c.server.mu.Unlock()
	return true
}

// Request reads one whole request, counts it, and returns it with its body. Ok is
// false when the connection ends before.
func (c *Conn) Request() (req *http.Request, body string, ok bool) {
	if !c.Started() {
		return nil, "", false
	}
	req, err := http.ReadRequest(c.reader)
	if err != nil {
		return nil, "", false
	}
	read, err := io.ReadAll(req.Body)
	return req, string(read), err == nil
}

// Write sends raw bytes.
func (c *Conn) Write(raw string) { _, _ = io.WriteString(c.conn, raw) }

// Answer sends a whole answer and keeps the connection open.
func (c *Conn) Answer(status int, contentType, body string) {
	c.Write(fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s",
		status, http.StatusText(status), contentType, len(body), body))
}

// Reset closes the connection the hard way, as a killed host does.
func (c *Conn) Reset() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.conn.Close()
}

// CloseWrite ends our direction only.
func (c *Conn) CloseWrite() {
	if tcp, ok := c.conn.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}

// Ended waits until the client closes the connection, or the test ends. Requests
// that still come in are counted.
func (c *Conn) Ended() {
	for {
		if _, _, ok := c.Request(); !ok {
			return
		}
	}
}

// Drain reads whatever the client's side still delivers and returns how it ended:
// nil for an ordinary close.
func (c *Conn) Drain() error {
	_, err := io.Copy(io.Discard, c.reader)
	return err
}
