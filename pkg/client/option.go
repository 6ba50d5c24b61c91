package client

import (
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Option changes what New builds.
type Option func(*Client)

// WithTransport sends requests through a transport of the caller's, for its own
// certificates, proxies or traces.
//
// It must send each request once. If it repeats one (a retry, a hedge), the client
// hears only the last answer, and a refusal in that may stand beside a payment that
// the first one made: the client would say that nothing was taken on. It must not
// write the header Authorization anywhere.
func WithTransport(transport http.RoundTripper) Option {
	return func(c *Client) { c.http.Transport = transport }
}

// WithPlaintext allows a base URL without TLS that leads to another machine. Who is
// on the way there can read the API key and pay with it; it is for networks that
// encrypt by themselves.
func WithPlaintext() Option {
	return func(c *Client) { c.plaintext = true }
}

// WithTryTimeout bounds one request, beside the time that Waiting allows. A shorter
// one than payonce's own 10 s makes unknown outcomes of slow answers.
func WithTryTimeout(timeout time.Duration) Option {
	return func(c *Client) { c.timeout = timeout }
}

// WithRetry says how requests are repeated.
func WithRetry(retry Retry) Option {
	return func(c *Client) { c.retry = retry }
}

// Retry says how often a request is repeated that may succeed later. Pauses double
// from First to Longest, each with half of it more or less, so that clients which
// failed together do not come back together. What payonce asks for by Retry-After is
// waited first.
type Retry struct {
	First   time.Duration // the first pause, above zero
	Longest time.Duration // at least First
	// Within is the time from the first request after which none is begun any more,
	// whatever else would allow it. Zero repeats nothing.
	Within time.Duration
}

// RetryDefault outlasts a restart of payonce or of its database.
var RetryDefault = Retry{First: 100 * time.Millisecond, Longest: 5 * time.Second, Within: time.Minute}

func (r Retry) check() error {
	if r.First <= 0 || r.Longest < r.First || r.Within < 0 {
		return errors.New("a Retry needs 0 < First <= Longest, and Within not below zero")
	}
	return nil
}

func (r Retry) pauses() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: r.First, MaxInterval: r.Longest, Multiplier: 2, RandomizationFactor: 0.5}
}
