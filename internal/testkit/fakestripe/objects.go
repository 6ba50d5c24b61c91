package fakestripe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// Methodless is the state of a PaymentIntent whose payment method is missing, or went
// away: requires_payment_method, without an error.
const Methodless = "methodless"

const (
	succeeded            = "succeeded"
	requiresConfirmation = "requires_confirmation"
	requiresMethod       = "requires_payment_method"
	processing           = "processing"
	canceled             = "canceled"
)

// intent is a PaymentIntent.
type intent struct {
	id, currency, status, decline string
	amount                        int64
	metadata                      map[string]string
	created                       int64
}

func (i *intent) reference() string { return i.metadata["operation_id"] }

func (i *intent) move(status string) {
	i.status, i.decline = status, ""
	switch status {
	case requiresMethod:
		i.decline = "insufficient_funds"
	case Methodless:
		i.status = requiresMethod
	}
}

func (i *intent) render() map[string]any {
	told := map[string]any{
		"id": i.id, "object": "payment_intent", "amount": i.amount, "amount_received": 0, "currency": i.currency,
		"status": i.status, "metadata": i.metadata, "created": i.created, "client_secret": i.id + "_secret", "last_payment_error": nil,
	}
	if i.status == succeeded {
		told["amount_received"] = i.amount
	}
	if i.decline != "" {
		told["last_payment_error"] = failure{Type: "card_error", Code: "card_declined", DeclineCode: i.decline, Message: "Your card has insufficient funds."}
	}
	return told
}

func (i *intent) confirm(step Step) reply {
	if i.status != requiresConfirmation {
		return i.unexpected()
	}
	if step.Becomes == "" {
		step.Becomes = succeeded
	}
	i.move(step.Becomes)
	if i.decline != "" {
		return reply{status: http.StatusPaymentRequired, failure: &failure{
			Type: "card_error", Code: "card_declined", DeclineCode: i.decline, Message: "Your card has insufficient funds.", PaymentIntent: i.render(),
		}}
	}
	return ok(i.render())
}

func (i *intent) cancel() reply {
	if i.status == succeeded || i.status == canceled || i.status == processing {
		return i.unexpected()
	}
	i.status = canceled
	return ok(i.render())
}

func (i *intent) unexpected() reply {
	return reply{status: http.StatusBadRequest, failure: &failure{
		Type: "invalid_request_error", Code: "payment_intent_unexpected_state", Message: "Its state does not allow it.", PaymentIntent: i.render(),
	}}
}

// refund is a refund of a PaymentIntent.
type refund struct {
	id, intent, currency, status string
	amount, created              int64
	metadata                     map[string]string
}

func (r *refund) render() map[string]any {
	return map[string]any{
		"id": r.id, "object": "refund", "amount": r.amount, "currency": r.currency, "status": r.status,
		"payment_intent": r.intent, "metadata": r.metadata, "created": r.created,
	}
}

func (s *Server) intent(id string) *intent {
	for _, i := range s.intents {
		if i.id == id {
			return i
		}
	}
	return nil
}

func (s *Server) create(form url.Values) reply {
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if err != nil {
		return refusal("parameter_invalid_integer")
	}
	i := &intent{
		id: fmt.Sprintf("pi_%06d", len(s.intents)+1), currency: form.Get("currency"), amount: amount, status: requiresConfirmation,
		metadata: map[string]string{"operation_id": form.Get("metadata[operation_id]")}, created: created(),
	}
	if form.Get("payment_method") == "" {
		i.move(Methodless)
	}
	s.intents = append(s.intents, i)
	return ok(i.render())
}

func (s *Server) refund(form url.Values, step Step) reply {
	i := s.intent(form.Get("payment_intent"))
	amount, err := strconv.ParseInt(form.Get("amount"), 10, 64)
	if i == nil || err != nil || i.status != succeeded {
		return refusal("resource_missing")
	}
	given := amount
	for _, r := range s.refunds {
		if r.intent == i.id {
			given += r.amount
		}
	}
	if given > i.amount {
		return refusal("charge_already_refunded")
	}
	r := &refund{
		id: fmt.Sprintf("re_%06d", len(s.refunds)+1), intent: i.id, currency: i.currency, amount: amount, status: succeeded, created: created(),
		metadata: map[string]string{"operation_id": form.Get("metadata[operation_id]")},
	}
	if step.Becomes != "" {
		r.status = step.Becomes
	}
	s.refunds = append(s.refunds, r)
	return ok(r.render())
}

// list shows the newest first, as Stripe does.
func (s *Server) list(form url.Values, what string) reply {
	limit, err := strconv.Atoi(form.Get("limit"))
	if err != nil {
		limit = 10
	}
	after, found := form.Get("starting_after"), form.Get("starting_after") == ""
	shown, more := []map[string]any{}, false
	for _, entry := range s.entries(what, form.Get("payment_intent")) {
		switch {
		case !found:
			found = entry["id"] == after
		case len(shown) == limit:
			more = true
		default:
			shown = append(shown, entry)
		}
	}
	return ok(map[string]any{"object": "list", "data": shown, "has_more": more, "url": "/v1/" + what})
}

func (s *Server) entries(what, of string) []map[string]any {
	var all []map[string]any
	if what == "refunds" {
		for _, r := range slices.Backward(s.refunds) {
			if of == "" || r.intent == of {
				all = append(all, r.render())
			}
		}
		return all
	}
	for _, i := range slices.Backward(s.intents) {
		all = append(all, i.render())
	}
	return all
}

// saved is a key's first answer.
type saved struct {
	asked string
	reply reply
}

// failure is Stripe's error.
type failure struct {
	Type          string         `json:"type"`
	Code          string         `json:"code,omitempty"`
	DeclineCode   string         `json:"decline_code,omitempty"`
	Param         string         `json:"param,omitempty"`
	Message       string         `json:"message"`
	PaymentIntent map[string]any `json:"payment_intent,omitempty"`
}

type reply struct {
	status  int
	body    []byte
	failure *failure
}

func ok(object map[string]any) reply {
	body, err := json.Marshal(object)
	if err != nil {
		return refusal("api_error")
	}
	return reply{status: http.StatusOK, body: body}
}

// refusal is Stripe's error of a code, with the status that it comes with.
func refusal(code string) reply {
	f := &failure{Type: "invalid_request_error", Code: code, Message: code}
	switch code {
	case "rate_limit", "lock_timeout":
		return reply{status: http.StatusTooManyRequests, failure: f}
	case "idempotency_key_in_use":
		return reply{status: http.StatusConflict, failure: f}
	case "api_error":
		f.Type, f.Code = "api_error", ""
		return reply{status: http.StatusInternalServerError, failure: f}
	case "permission":
		f.Code = ""
		return reply{status: http.StatusForbidden, failure: f}
	}
	return reply{status: http.StatusBadRequest, failure: f}
}

func (r reply) write(w http.ResponseWriter) {
	if r.failure != nil {
		writeError(w, r.status, *r.failure)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body) // a client that is gone has its answer lost, as everywhere
}

func writeError(w http.ResponseWriter, status int, f failure) {
	body, err := json.Marshal(map[string]failure{"error": f})
	if err != nil {
		body = []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_fake")
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "2")
	}
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
