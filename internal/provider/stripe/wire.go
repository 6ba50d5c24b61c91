package stripe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
)

// userAgent is what Stripe sees in place of stripe-go's two lines, which tell about
// the machine and would make the bytes of a request depend on it.
const userAgent = "payonce stripe-go/" + stripe.ClientVersion

// wire is the round tripper beneath stripe-go.
//
// stripe-go hands over a body of unknown length that it can rewind; both would let
// net/http or a proxy repeat the request. Here the body is read, so that the request
// has a length and no way back, and then the transport's permit decides. What comes
// back is read to its end before stripe-go sees it and kept in the call, so that an
// answer is sorted by its own bytes and never by the text of an SDK's error.
type wire struct{ transport *provider.Transport }

func newWire() *wire { return &wire{transport: provider.NewTransport(nil)} }

// call is one request of ours and the whole reply to it.
type call struct {
	reply    provider.Reply
	complete bool
	err      error // why there is no whole reply; with one, what stripe-go says of it
	// unanswered is what is known without a whole reply.
	unanswered provider.Answer
}

type callKey struct{}

// record returns a context whose next request leaves its reply in the call.
func record(ctx context.Context) (context.Context, *call) {
	c := &call{err: errors.New("no request was made")}
	return context.WithValue(ctx, callKey{}, c), c
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	kept, ok := req.Context().Value(callKey{}).(*call)
	if !ok {
		kept = new(call)
	}
	kept.complete = false
	sent, err := sealed(req)
	if err != nil {
		kept.err = err
		return nil, err
	}
	resp, err := w.transport.RoundTrip(sent)
	if err != nil {
		kept.err = err
		return nil, err
	}
	reply, err := provider.ReadReply(resp)
	if err != nil {
		kept.err = err
		return nil, err
	}
	kept.reply, kept.complete, kept.err = reply, true, nil
	resp.Body = io.NopCloser(bytes.NewReader(reply.Body))
	return resp, nil
}

// sealed returns the request with its body in memory and without what depends on
// the machine.
func sealed(req *http.Request) (*http.Request, error) {
	clone := req.Clone(req.Context())
	clone.GetBody = nil
	clone.Header.Set("User-Agent", userAgent)
	clone.Header.Del("X-Stripe-Client-User-Agent")
	if req.Body == nil {
		return clone, nil
	}
	defer func() { _ = req.Body.Close() }()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request's body: %w", err)
	}
	clone.Body, clone.ContentLength = http.NoBody, 0
	if len(body) > 0 {
		clone.Body, clone.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	return clone, nil
}

// newClient returns a client of stripe-go that shares nothing with others, repeats
// nothing, measures nothing and logs nothing: at its debug level it would log whole
// answers, and at any level an answer that it cannot read.
func newClient(key, address string, w *wire) *stripe.Client {
	config := &stripe.BackendConfig{
		EnableTelemetry: new(false),
		HTTPClient: &http.Client{
			Transport:     w,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		LeveledLogger:     &stripe.LeveledLogger{Level: stripe.LevelNull},
		MaxNetworkRetries: new(int64(0)),
		URL:               new(address),
	}
	api := stripe.GetBackendWithConfig(stripe.APIBackend, config)
	// All four, or the client would make the missing ones with the defaults, which
	// repeat requests.
	return stripe.NewClient(key, stripe.WithBackends(&stripe.Backends{API: api, Connect: api, Uploads: api, MeterEvents: api}))
}

// plain is an error for logs and for people. stripe-go's own errors are the whole
// answer in JSON, with a client secret and a payment method in it.
func plain(err error) error {
	if told, ok := errors.AsType[*stripe.Error](err); ok {
		return fmt.Errorf("stripe says %s %s (status %d, request %s)", told.Type, told.Code, told.HTTPStatusCode, told.RequestID)
	}
	return errors.New("no answer in stripe's own format")
}
