package provider

import (
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"
)

// guardedConn is a connection whose writes the permit of the present request
// decides about. It lies beneath TLS, so that its Write is the last thing before
// the kernel. It deliberately embeds the interface and not *net.TCPConn, whose
// ReadFrom would lead bytes past Write.
type guardedConn struct {
	net.Conn
	// permit is of the request that holds the connection. Nil is a request that
	// moves nothing, or the connection's own beginning (TLS, a proxy's CONNECT).
	permit atomic.Pointer[Permit]
}

// guard wraps a fresh connection.
func guard(conn net.Conn) *guardedConn {
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Closing drops what the kernel still holds. Without this: the network is
		// cut, our request waits in the send buffer, we give up and close, and when
		// the network comes back minutes later the kernel delivers the charge.
		_ = tcp.SetLinger(0) // a platform that cannot is no worse off than without
	}
	return &guardedConn{Conn: conn}
}

// guardOf finds the guard beneath a connection as net/http names it.
func guardOf(conn net.Conn) (*guardedConn, bool) {
	for {
		secure, ok := conn.(*tls.Conn)
		if !ok {
			break
		}
		conn = secure.NetConn() // more than once: TLS through a proxy that itself speaks TLS
	}
	guarded, ok := conn.(*guardedConn)
	return guarded, ok
}

// arm hands the connection to the next request. net/http calls it between
// choosing the connection and giving it the request, when nothing is being
// written. The last request's write deadline must not outlive that request.
func (c *guardedConn) arm(permit *Permit) {
	c.permit.Store(permit)
	_ = c.SetWriteDeadline(time.Time{}) // fails on a closed connection only; the write then says so
}

// Write hands b to the kernel if the permit allows it at this moment.
func (c *guardedConn) Write(b []byte) (int, error) {
	permit := c.permit.Load()
	if permit == nil {
		return c.Conn.Write(b)
	}
	now := time.Now()
	if err := c.SetWriteDeadline(now.Add(permit.stop.Remaining(now))); err != nil {
		return 0, err
	}
	if err := permit.write(time.Now()); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}
