// Package fakestripe is a Stripe that keeps what it is told, for tests.
//
//	stripe's connector ──HTTP──> Server ──> oracle
//
// It keeps PaymentIntents, refunds and idempotency keys as Stripe's documentation
// says that Stripe does, and misbehaves where a test scripts it to. What it cannot
// show is whether the documentation is true.
package fakestripe

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Key is the API key that the server knows.
const Key = "sk_test_fakestripe"

// What is scripted, and what the oracle counts.
const (
	Create   = "create"
	Confirm  = "confirm"
	Cancel   = "cancel"
	Retrieve = "retrieve"
	Refund   = "refund"
	List     = "list"
)

// Step is what happens to the next request of a kind. The zero Step is ordinary.
type Step struct {
	// CutBefore closes the connection before the request does anything, CutAfter
	// after it did, and before it is answered.
	CutBefore, CutAfter bool
	// Becomes is the state that a confirm or refund leads to, other than succeeded:
	// requires_payment_method is a decline.
	Becomes string
	// Refuse answers with Stripe's error of this code and changes nothing. The key
	// keeps an api_error, as Stripe's do, and no other one.
	Refuse string
	// Hold, if given, is waited for before the request does anything.
	Hold <-chan struct{}
}

// Server is an http.Handler.
type Server struct {
	account string

	mu      sync.Mutex
	intents []*intent
	refunds []*refund
	keys    map[string]saved
	script  map[string][]Step
	arrived map[string]int // by kind and reference
}

// New returns a server that keeps the account of that name.
func New(account string) *Server {
	return &Server{account: account, keys: map[string]saved{}, script: map[string][]Step{}, arrived: map[string]int{}}
}

// Script appends steps for requests of a kind.
func (s *Server) Script(kind string, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script[kind] = append(s.script[kind], steps...)
}

// Charged returns how many PaymentIntents of a reference received money. More than
// one is a double charge.
func (s *Server) Charged(reference string) int {
	return s.count(func(i *intent) bool { return i.reference() == reference && i.status == succeeded })
}

// Made returns how many PaymentIntents of a reference there are.
func (s *Server) Made(reference string) int {
	return s.count(func(i *intent) bool { return i.reference() == reference })
}

func (s *Server) count(is func(*intent) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, i := range s.intents {
		if is(i) {
			n++
		}
	}
	return n
}

// Refunded returns how many refunds of a reference took place.
func (s *Server) Refunded(reference string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.refunds {
		if r.metadata["operation_id"] == reference && r.status == succeeded {
			n++
		}
	}
	return n
}

// Arrived returns how many requests of a kind arrived.
func (s *Server) Arrived(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived[kind]
}

// Settle moves the PaymentIntent of a reference on, as a bank's late answer does.
func (s *Server) Settle(reference, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.intents {
		if i.reference() == reference {
			i.move(status)
		}
	}
}

// ForgetKeys is what happens to keys after a day.
func (s *Server) ForgetKeys() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.keys)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer "+Key {
		writeError(w, http.StatusUnauthorized, failure{Type: "invalid_request_error", Message: "Invalid API Key provided"})
		return
	}
	if err := r.ParseForm(); err != nil {
		writeError(w, http.StatusBadRequest, failure{Type: "invalid_request_error", Message: err.Error()})
		return
	}
	kind, id := route(r)
	step := s.next(kind)
	if step.Hold != nil {
		<-step.Hold
	}
	if step.CutBefore {
		cut(w)
		return
	}
	a := s.answer(r, kind, id, step)
	if step.CutAfter {
		cut(w)
		return
	}
	a.write(w)
}

// next takes the kind's next step and counts the request in.
func (s *Server) next(kind string) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.arrived[kind]++
	steps := s.script[kind]
	if len(steps) == 0 {
		return Step{}
	}
	s.script[kind] = steps[1:]
	return steps[0]
}

func cut(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err == nil {
		_ = conn.Close() // the cut is the point
	}
}

// route tells the kind of a request and the object that it is about.
func route(r *http.Request) (kind, id string) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/v1/"), "/")
	post := r.Method == http.MethodPost
	switch {
	case parts[0] == "account":
		return "account", ""
	case parts[0] == "refunds" && post:
		return Refund, ""
	case len(parts) == 1 && !post:
		return List, parts[0]
	case len(parts) == 1:
		return Create, ""
	case len(parts) == 2:
		return Retrieve, parts[1]
	}
	return parts[2], parts[1]
}

// answer carries a request out, once for each key.
func (s *Server) answer(r *http.Request, kind, id string, step Step) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.Header.Get("Idempotency-Key")
	asked := r.URL.Path + "?" + r.PostForm.Encode()
	if first, known := s.keys[key]; known && r.Method == http.MethodPost {
		if first.asked != asked {
			return reply{status: http.StatusBadRequest, failure: &failure{Type: "idempotency_error", Message: "The key was used with other parameters."}}
		}
		return first.reply
	}
	if step.Refuse != "" && step.Refuse != "api_error" {
		return refusal(step.Refuse)
	}
	told := refusal(step.Refuse)
	if step.Refuse == "" {
		told = s.carryOut(r.Form, kind, id, step)
	}
	if r.Method == http.MethodPost && key != "" {
		s.keys[key] = saved{asked: asked, reply: told}
	}
	return told
}

func (s *Server) carryOut(form url.Values, kind, id string, step Step) reply {
	switch kind {
	case "account":
		return ok(map[string]any{"id": s.account, "object": "account"})
	case Create:
		return s.create(form)
	case Refund:
		return s.refund(form, step)
	case List:
		return s.list(form, id)
	}
	i := s.intent(id)
	if i == nil {
		return reply{status: http.StatusNotFound, failure: &failure{
			Type: "invalid_request_error", Code: "resource_missing", Param: "intent", Message: fmt.Sprintf("No such payment_intent: '%s'", id),
		}}
	}
	switch kind {
	case Confirm:
		return i.confirm(step)
	case Cancel:
		return i.cancel()
	default:
		return ok(i.render())
	}
}

func created() int64 { return time.Now().Unix() }
