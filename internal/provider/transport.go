package provider

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"time"
)

// Limits of the wire. They are wide for a working provider and narrow for a
// broken one; a call's own time limit comes from its context and is shorter.
const (
	// DialTimeout bounds DNS and TCP. Nothing is sent before, so it may be short.
	DialTimeout = 5 * time.Second
	// TLSTimeout bounds the handshake.
	TLSTimeout = 5 * time.Second
	// HeaderTimeout bounds the wait for an answer's first line when the caller
	// forgot a limit of its own.
	HeaderTimeout = 2 * time.Minute
	// IdleTimeout lies below the 60 s after which many servers close idle
	// connections: a request on a connection that is just being closed is unclear.
	IdleTimeout = 30 * time.Second
	// IdleConnsPerHostMax keeps the worker's whole concurrency in reusable
	// connections; the default of 2 would dial for nearly every payment.
	IdleConnsPerHostMax = 512
	// AnswerBytesMax bounds what is read of one answer.
	AnswerBytesMax = 1 << 20
	// AnswerHeaderBytesMax bounds its header.
	AnswerHeaderBytesMax = 64 << 10
)

// Transport is the one way to a provider. net/http silently repeats a POST on a
// broken reused connection when it carries an Idempotency-Key and either has no
// body or can rewind it; the provider then sees two requests where we know of
// one. Transport takes away both conditions, allows a money-moving request only
// under a Permit, and speaks HTTP/1.1 only, because a write deadline belongs to a
// connection and must belong to one request.
//
// A request under a permit is sent at most once. A GET without one may be
// repeated by net/http, which is harmless.
type Transport struct {
	base *http.Transport
}

// NewTransport returns a transport; secure may be nil and then means the
// system's roots.
func NewTransport(secure *tls.Config) *Transport {
	dialer := &net.Dialer{Timeout: DialTimeout, KeepAlive: 15 * time.Second}
	if secure == nil {
		secure = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	secure = secure.Clone()
	secure.NextProtos = []string{"http/1.1"}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &Transport{base: &http.Transport{
		Proxy: secureProxy,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return guard(conn), nil
		},
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    TLSTimeout,
		Protocols:              protocols,
		DisableCompression:     true, // the answer is hashed as it came, and cannot unpack beyond the limit
		MaxIdleConns:           IdleConnsPerHostMax,
		MaxIdleConnsPerHost:    IdleConnsPerHostMax,
		IdleConnTimeout:        IdleTimeout,
		ResponseHeaderTimeout:  HeaderTimeout,
		MaxResponseHeaderBytes: AnswerHeaderBytesMax,
	}}
}

// NewHTTPClient returns a client that uses the transport and follows no redirect:
// a redirected POST would be a second request.
func NewHTTPClient(t *Transport) *http.Client {
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// RoundTrip sends req under the permit of its context. It returns ErrPermitMissing,
// ErrPermitUsed, ErrBodyMissing or ErrStopDeadline when the wire rules stop the
// request; whether anything was sent is for Permit.NotSent to say.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	permit := permitFrom(req.Context())
	if err := admit(req, permit); err != nil {
		if req.Body != nil {
			_ = req.Body.Close() // a RoundTripper closes the body, also on errors
		}
		return nil, err
	}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if guarded, ok := guardOf(info.Conn); ok {
			guarded.arm(permit)
		} else if permit != nil {
			permit.unguarded()
		}
	}}
	clone := req.Clone(httptrace.WithClientTrace(req.Context(), trace))
	clone.GetBody = nil
	resp, err := t.base.RoundTrip(clone)
	if err != nil {
		return nil, err
	}
	resp.Body = &boundedBody{body: resp.Body, left: AnswerBytesMax}
	return resp, nil
}

// CloseIdleConnections closes what no request holds.
func (t *Transport) CloseIdleConnections() { t.base.CloseIdleConnections() }

// admit applies the rules that hold before a connection is looked for.
func admit(req *http.Request, permit *Permit) error {
	if permit == nil {
		if movesNothing(req.Method) {
			return nil
		}
		return ErrPermitMissing
	}
	// Also for a GET: without a body net/http may repeat what a permit allows once.
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength <= 0 {
		return ErrBodyMissing
	}
	if permit.stop.Passed(time.Now()) {
		return ErrStopDeadline
	}
	return permit.use()
}

func movesNothing(method string) bool {
	return method == "" || method == http.MethodGet || method == http.MethodHead
}

// secureProxy honours the proxy of the environment for https only, where a proxy
// sees a tunnel. A proxy that sees a plain POST may repeat it itself.
func secureProxy(req *http.Request) (*url.URL, error) {
	if req.URL.Scheme != "https" {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// boundedBody fails beyond a limit, where io.LimitReader would look like a
// complete short answer.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, ErrAnswerTooLarge
	}
	if int64(len(p)) > b.left {
		p = p[:b.left]
	}
	n, err := b.body.Read(p)
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
