package httpapi

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
)

// route is one endpoint: who serves it, and what the document says of it. Nothing
// comes onto the mux in another way, so nothing is served that is not described.
type route struct {
	method, path string // as http.ServeMux and OpenAPI both write them: /v1/payments/{id}
	serve        func(*api) http.Handler
	about        about
}

// about is what the document says of an endpoint, apart from what every endpoint of
// its kind has: the API key and the problems of commonProblems.
type about struct {
	id          string // operationId, for generated clients
	tag         string // the group that it is shown in
	summary     string
	description string   // CommonMark
	keyed       bool     // takes an Idempotency-Key and stores it
	noAPIKey    bool     // answers to everyone
	parameters  []string // names in the table parameters, those in the path too
	body        any      // a value of the body's Go type; nil takes no body
	answers     []success
	problems    []problem.Problem
}

// success is one way in which a request is answered when nothing went wrong.
type success struct {
	status  int
	when    string
	media   string   // empty is application/json
	body    any      // a value of its Go type
	headers []string // names in the table answerHeaders
}

// anything is a body whose form is not ours to say.
type anything struct{}

// nothing is the empty object.
type nothing struct{}

// byMerchant serves requests that bring a merchant's API key.
func byMerchant(serve func(*api, http.ResponseWriter, *http.Request, merchant.Merchant) error) func(*api) http.Handler {
	return func(a *api) http.Handler {
		return a.authenticated(func(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error { return serve(a, w, r, m) })
	}
}

// byProvider serves providers' webhooks, which have bounds of their own.
func byProvider(serve func(*api, http.ResponseWriter, *http.Request) error) func(*api) http.Handler {
	return func(a *api) http.Handler {
		return bounded(a, a.webhooksInFlight, func(w http.ResponseWriter, r *http.Request) error { return serve(a, w, r) })
	}
}

// register puts the routes onto a mux, and behind each path what answers to the
// methods that it does not have, which net/http would do in plain text.
func (a *api) register(mux *http.ServeMux, routes []route) {
	methods := map[string][]string{}
	for _, r := range routes {
		mux.Handle(r.method+" "+r.path, r.serve(a))
		methods[r.path] = append(methods[r.path], r.method)
	}
	for _, path := range slices.Sorted(maps.Keys(methods)) {
		mux.Handle(path, a.endpoint(notAllowed(allowed(methods[path]))))
	}
}

// allowed is the value of the header Allow. Who answers GET answers HEAD.
func allowed(methods []string) string {
	if slices.Contains(methods, http.MethodGet) {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}
