package httpapi

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/problem"
)

// postPayment takes a payment on: 202 with the payment, or for a repeat of a
// request whose payment is final, its stored answer byte for byte. A client that
// prefers to wait for that answer is returned.
func (a *api) postPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (*waiter, error) {
	request, err := readPayment(w, r, m) //nolint:contextcheck // a trace context is read from a header, nothing is waited for
	if err != nil {
		return nil, err
	}
	result, err := a.Committer.Accept(r.Context(), request)
	if err != nil {
		return nil, err
	}
	switch result.Outcome {
	case accept.OutcomeAccepted, accept.OutcomeReplayed:
	default:
		return nil, problem.Refusal(result)
	}
	client := &waiter{merchantID: m.ID, result: result, wait: preferredWait(r.Header), tell: sendResult}
	return client.unless(result.Answer != nil, w)
}

// readPayment makes a request of everything that HTTP carries.
func readPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (accept.Request, error) {
	key, err := readKey(w, r, m)
	if err != nil {
		return accept.Request{}, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return accept.Request{}, err
	}
	command, err := accept.DecodePayment(body)
	if err != nil {
		return accept.Request{}, err
	}
	command.From(m)
	command.IdempotencyKey = key
	command.TraceParent = single(r.Header, "Traceparent")
	command.CorrelationID = single(r.Header, "X-Correlation-Id")
	command.CausationID = single(r.Header, "X-Request-Id")
	return command.Validate()
}

// readKey returns no key for a merchant whose clients are too old to send one, and
// says so in the answer.
func readKey(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (string, error) {
	key, err := idempotency.ParseKey(r.Header.Values("Idempotency-Key"))
	switch {
	case errors.Is(err, idempotency.ErrKeyMissing) && m.DerivesKeys:
		w.Header().Set("Idempotency-Key-Derived", "true")
		return "", nil
	case err != nil:
		return "", explainKey(err)
	}
	return key, nil
}

// single returns a header's value when it came once: of two nobody knows which
// one is meant.
func single(header http.Header, name string) string {
	if lines := header.Values(name); len(lines) == 1 {
		return lines[0]
	}
	return ""
}

// sendResult sends the payment as it is, or the answer that is stored for it. What is
// said about a payment stands in no problem document, so it is said last.
func sendResult(w http.ResponseWriter, result accept.Result) error {
	answer, err := answerOf(result.Answer, result.Payment)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/payments/"+result.PaymentID.String())
	sendAnswer(w, answer, result.Outcome == accept.OutcomeReplayed)
	return nil
}

// answerOf is the answer that is stored for a request, and as long as there is none
// the view of what was taken on.
func answerOf(stored *accept.Answer, view interface{ Encode() ([]byte, error) }) (*accept.Answer, error) {
	if stored != nil {
		return stored, nil
	}
	body, err := view.Encode()
	if err != nil {
		return nil, err
	}
	return &accept.Answer{Status: http.StatusAccepted, Body: body}, nil
}

// sendAnswer sends the answer to a request with a key, or to a repeat of it.
func sendAnswer(w http.ResponseWriter, answer *accept.Answer, replayed bool) {
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	send(w, answer.Status, "application/json", answer.Body)
}

func explainKey(err error) *problem.Error {
	if errors.Is(err, idempotency.ErrKeyMissing) {
		return problem.KeyMissing.Failure("Send a header Idempotency-Key with a value that is new for each payment and the same for each repeat.")
	}
	return problem.KeyMalformed.Failure("In the header Idempotency-Key: " + err.Error() +
		". Send 1 to 255 visible ASCII characters without commas, or a quoted string as in RFC 8941.")
}

// getPayment tells the state of one of the merchant's own payments. A client that
// prefers to wait while it is open is returned.
func (a *api) getPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (*waiter, error) {
	id, err := paymentID(r)
	if err != nil {
		return nil, err
	}
	view, err := a.view(r.Context(), m.ID, id)
	if err != nil {
		return nil, err
	}
	client := &waiter{
		merchantID: m.ID, result: accept.Result{PaymentID: id, Payment: view}, wait: preferredWait(r.Header),
		tell: sendPresent,
	}
	return client.unless(view.State.Final(), w)
}

// sendPresent sends the payment, or what is stored for it when it has just become final:
// thousands who wait for one payment then cost no read of their own.
func sendPresent(w http.ResponseWriter, result accept.Result) error {
	if result.Answer != nil {
		send(w, http.StatusOK, "application/json", result.Answer.Body)
		return nil
	}
	return sendJSON(w, result.Payment)
}

// paymentID reads the path. What is no id names no payment.
func paymentID(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return uuid.Nil, noSuchPayment()
	}
	return id, nil
}

func noSuchPayment() error { return problem.ResourceNotFound.Failure("There is no such payment.") }
