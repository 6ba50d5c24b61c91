package httpapi

import (
	"errors"
	"net/http"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// postPayment takes a payment on: 202 with the payment, or for a repeat of a
// request whose payment is final, its stored answer byte for byte.
func (a *api) postPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	request, err := readPayment(w, r, m) //nolint:contextcheck // a trace context is read from a header, nothing is waited for
	if err != nil {
		return err
	}
	result, err := a.Committer.Accept(r.Context(), request)
	if err != nil {
		return err
	}
	switch result.Outcome {
	case accept.OutcomeAccepted:
		return sendResult(w, result)
	case accept.OutcomeReplayed:
		w.Header().Set("Idempotent-Replayed", "true")
		return sendResult(w, result)
	default:
		return refusal(result)
	}
}

// readPayment makes a request of everything that HTTP carries.
func readPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) (accept.Request, error) {
	key, err := idempotency.ParseKey(r.Header.Values("Idempotency-Key"))
	if err != nil {
		return accept.Request{}, explainKey(err)
	}
	body, err := readBody(w, r)
	if err != nil {
		return accept.Request{}, err
	}
	command, err := decodePayment(body)
	if err != nil {
		return accept.Request{}, err
	}
	command.MerchantID, command.ProviderAccount, command.IdempotencyKey = m.ID, m.ProviderAccount, key
	command.TraceParent = single(r.Header, "Traceparent")
	command.CorrelationID = single(r.Header, "X-Correlation-Id")
	command.CausationID = single(r.Header, "X-Request-Id")
	request, err := command.Validate()
	if broken, ok := errors.AsType[*accept.InvalidError](err); ok {
		return accept.Request{}, explainInvalid(broken)
	}
	return request, err
}

// single returns a header's value when it came once: of two nobody knows which
// one is meant.
func single(header http.Header, name string) string {
	if lines := header.Values(name); len(lines) == 1 {
		return lines[0]
	}
	return ""
}

// sendResult sends the payment as it is, or the answer that is stored for it.
func sendResult(w http.ResponseWriter, result accept.Result) error {
	w.Header().Set("Location", "/v1/payments/"+result.PaymentID.String())
	if result.Answer != nil {
		send(w, result.Answer.Status, "application/json", result.Answer.Body)
		return nil
	}
	return sendPayment(w, http.StatusAccepted, result.Payment)
}

func sendPayment(w http.ResponseWriter, status int, view payment.View) error {
	body, err := view.Encode()
	if err != nil {
		return err
	}
	send(w, status, "application/json", body)
	return nil
}

// refusal explains why nothing was stored.
func refusal(result accept.Result) error {
	switch result.Outcome {
	case accept.OutcomeMismatched:
		f := keyReused.failure("The first request with this key had other values in the fields that are named. It is untouched.")
		f.DifferingFields = result.Differing
		return f
	case accept.OutcomeConflicting:
		kind, detail := invoiceHasPayment, "The invoice can be paid again when this payment has failed or was canceled."
		if result.Holds == accept.FieldExternalReference {
			kind, detail = referenceIsInUse, "The reference can be used again when this payment has failed or was canceled."
		}
		f := kind.failure(detail)
		f.Payment = &result.Payment
		return f
	case accept.OutcomeRefused:
		return explainInvalid(result.Refusal)
	default:
		return errors.New("a request was neither accepted nor refused")
	}
}

func explainInvalid(broken *accept.InvalidError) *failure {
	f := invalidRequest.failure(broken.Error() + ".")
	f.Errors = broken.Fields
	return f
}

func explainKey(err error) *failure {
	if errors.Is(err, idempotency.ErrKeyMissing) {
		return keyMissing.failure("Send a header Idempotency-Key with a value that is new for each payment and the same for each repeat.")
	}
	return keyMalformed.failure(err.Error() + ".")
}

// getPayment tells the state of one of the merchant's own payments. Another
// merchant's payment does not exist here.
func (a *api) getPayment(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return resourceNotFound.failure("There is no such payment.")
	}
	views, err := operation.Views(r.Context(), a.Pool, m.ID, []uuid.UUID{id})
	if err != nil {
		return err
	}
	view, found := views[id]
	if !found {
		return resourceNotFound.failure("There is no such payment.")
	}
	return sendPayment(w, http.StatusOK, view)
}
