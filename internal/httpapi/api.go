// Package httpapi is the HTTP door: JSON in, payments and problem documents out.
//
//	POST /v1/payments, GET /v1/payments/{id} ──> accept, operation
//	POST /v1/payments/{id}/cancel, /refunds ──> accept
//	POST /v1/providers/{account}/webhooks ──> webhook
//
// Every answer that is not a payment is an RFC 9457 problem document that says
// whether sending the same request again can help. Bodies, API keys, idempotency
// keys and providers' tokens are in no log line and no error.
package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/webhook"
)

const (
	// BodyBytesMax bounds a request's body, and with it what a request may cost
	// before anything is known about it.
	BodyBytesMax = accept.BodyBytesMax
	// InFlightMax bounds the requests that are being worked on, and with them the
	// memory: about 64 MiB if all of them bring the longest body.
	InFlightMax = 1024
	// RequestWaitMax bounds what a request may wait for the database. It is above
	// accept's own bounds and below the server's write timeout.
	RequestWaitMax = 10 * time.Second
	// retryAfter is what clients are told to wait, in seconds.
	retryAfter = "1"
)

// Config is what the API stands on.
type Config struct {
	Pool       *pgxpool.Pool
	Merchants  *merchant.Directory
	Committer  *accept.Committer // its Run must be running
	Amendments accept.Amendments
	Waiting    *WaitingRoom // its Run must be running
	Webhooks   *webhook.Receiver
	// Limit bounds the requests of each merchant that has no limit of its own. Zero: none.
	Limit merchant.Limit
	Log   *zap.Logger
}

type api struct {
	Config
	limits           *limits
	shares           shares
	waits            shares // of those who wait for a payment
	presenting       chan struct{}
	inFlight         chan struct{}
	webhooksInFlight chan struct{}
	documents        chan struct{} // the copies of it that are being sent
}

// New returns the handler of the API.
func New(c Config) http.Handler { return newAPI(c).handler() }

func newAPI(c Config) *api {
	return &api{
		Config: c, limits: newLimits(c.Limit), shares: newShares(MerchantInFlightMax), waits: newShares(MerchantWaitersMax),
		presenting: make(chan struct{}, presentMax),
		inFlight:   make(chan struct{}, InFlightMax), webhooksInFlight: make(chan struct{}, WebhooksInFlightMax),
		documents: make(chan struct{}, DocumentsMax),
	}
}

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	a.register(mux, routes())
	mux.Handle("/", a.endpoint(notFound))
	return a.observed(mux)
}

// endpoint answers a request, or returns why it does not.
type endpoint func(http.ResponseWriter, *http.Request) error

// merchantEndpoint is an endpoint for requests of a known merchant.
type merchantEndpoint func(http.ResponseWriter, *http.Request, merchant.Merchant) error

// endpoint makes problem documents of errors, and bounds time and number of the
// requests at work. A request is at work until its answer is known.
func (a *api) endpoint(serve endpoint) http.Handler { return bounded(a, a.inFlight, serve) }

func bounded(a *api, inFlight chan struct{}, serve endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &draft{ResponseWriter: w}
		if err := within(inFlight, kept, r, serve); err != nil {
			a.fail(kept, r, err)
		}
		kept.send()
	})
}

func within(inFlight chan struct{}, w http.ResponseWriter, r *http.Request, serve endpoint) error {
	select {
	case inFlight <- struct{}{}:
		defer func() { <-inFlight }()
	default:
		return problem.Overloaded.Failure("Too many requests are being worked on.")
	}
	ctx, cancel := context.WithTimeout(r.Context(), RequestWaitMax)
	defer cancel()
	return serve(w, r.WithContext(ctx))
}

// authenticated looks at nothing of a request before it knows whose it is, and that
// this merchant is not too fast.
func (a *api) authenticated(serve merchantEndpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answered := func() {}
		defer func() { answered() }()
		a.endpoint(func(w http.ResponseWriter, r *http.Request) error {
			m, err := a.authenticate(w, r)
			if err != nil {
				return err
			}
			if err := a.admit(w, r, m); err != nil {
				return err
			}
			if !a.shares.take(m.ID) {
				return tooFast(w, 0, "Too many of this merchant's requests are being worked on.")
			}
			answered = func() { a.shares.giveBack(m.ID) }
			return serve(w, r, m)
		}).ServeHTTP(w, r)
	})
}

func notFound(http.ResponseWriter, *http.Request) error {
	return problem.ResourceNotFound.Failure("There is nothing at this path.")
}

func notAllowed(methods string) endpoint {
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", methods)
		return problem.MethodNotAllowed.Failure("This path answers to " + methods + ".")
	}
}
