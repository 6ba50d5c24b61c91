// Package client asks payonce for payments over HTTP.
//
//	Intent + PaymentRequest ──Submit──> Receipt | ProblemError | "ask again with the same intent"
//
// Its promise: one Intent is one payment, however often it is sent, and no error of
// this package means that a payment failed. A payment has failed when its State says
// so. An error says that nothing was taken on (ProblemError, ConflictError), that
// another request was (KeyReusedError), or that nobody here knows (ErrUnresolved).
//
// Requests are repeated for as long as that can help, always under the intent's own
// key, and by this package alone: net/http is kept from repeating them.
package client

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"
)

const (
	// TryTimeoutDefault bounds one request. It is above the 10 s in which payonce
	// answers whatever happens, so that an honest 503 arrives.
	TryTimeoutDefault = 15 * time.Second
	// WaitMax is the longest wait for an outcome that payonce agrees to in one request.
	WaitMax = 30 * time.Second
	// AnswerBytesMax bounds what is read of one answer. The longest page of payments
	// is a tenth of it.
	AnswerBytesMax = 1 << 20
	// idleConnsMax keeps connections for callers that ask side by side.
	idleConnsMax = 64
	// idleConnTimeout is below the two minutes after which payonce closes an idle
	// connection: requests that meet a closing connection have to be repeated.
	idleConnTimeout = 90 * time.Second
)

// Client is one merchant's way to one payonce. Its methods may be called from any
// goroutine.
type Client struct {
	base    *url.URL
	http    *http.Client
	sign    func(*http.Request) // holds the API key, which nothing prints this way
	retry   Retry
	timeout time.Duration
	wait    time.Duration // for an outcome; zero asks for none

	plaintext bool
}

// New returns a client for the payonce at baseURL, such as "https://payonce.example".
// It connects to nobody yet.
//
// baseURL must be https, or lead to this very machine, because every request carries
// the API key; WithPlaintext lifts that. It holds no user, query or fragment.
func New(baseURL, apiKey string, options ...Option) (*Client, error) {
	base, err := parseBase(baseURL)
	if err != nil {
		return nil, err
	}
	if apiKey == "" {
		return nil, errors.New("the API key is empty")
	}
	c := &Client{
		base: base, retry: RetryDefault, timeout: TryTimeoutDefault,
		sign: func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+apiKey) },
		http: &http.Client{
			// A redirect would carry the API key to an address that nobody chose.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
				MaxIdleConns: idleConnsMax, MaxIdleConnsPerHost: idleConnsMax, IdleConnTimeout: idleConnTimeout,
			},
		},
	}
	for _, option := range options {
		option(c)
	}
	if base.Scheme != "https" && !loopback(base.Hostname()) && !c.plaintext {
		return nil, fmt.Errorf("%s is not https, and the API key could be read on the way", base)
	}
	return c, c.retry.check()
}

func parseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("the base URL cannot be parsed") // it is not quoted: it could hold a password
	}
	switch {
	case base.Scheme != "https" && base.Scheme != "http", base.Host == "":
		return nil, errors.New("the base URL does not begin with https://HOST")
	case base.User != nil, base.RawQuery != "", base.Fragment != "":
		return nil, errors.New("the base URL has a user, a query or a fragment")
	}
	return base, nil
}

// loopback reports whether a host is this machine. A name is resolved by nobody
// here: only localhost is one (RFC 6761, 6.3).
func loopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

// Waiting returns a client that asks payonce to hold each answer back until the
// payment is final, for at most the given time, whole seconds up to WaitMax. An
// answer may still be an open payment. The two share their connections.
func (c *Client) Waiting(wait time.Duration) *Client {
	waiting := *c
	waiting.wait = min(max(wait.Truncate(time.Second), 0), WaitMax)
	return &waiting
}

// Close closes the idle connections. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }
