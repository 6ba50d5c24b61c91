package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/payment"
)

// postRefund takes a refund on: 202 with the refund, or for a repeat of a request whose
// refund is final, its stored answer byte for byte.
func (a *api) postRefund(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	about, err := readAmendment(r, m)
	if err != nil {
		return err
	}
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	command, err := accept.DecodeRefund(body)
	if err != nil {
		return err
	}
	command.Amendment = about
	done, err := a.Amendments.Refund(r.Context(), command)
	if err != nil {
		return err
	}
	answer, err := answerOf(done.Answer, done.Refund)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/refunds/"+done.RefundID.String())
	sendAnswer(w, answer, done.Replayed)
	return nil
}

// readAmendment reads what cancels and refunds have in common.
func readAmendment(r *http.Request, m merchant.Merchant) (accept.Amendment, error) {
	key, err := idempotency.ParseKey(r.Header.Values("Idempotency-Key"))
	if err != nil {
		return accept.Amendment{}, explainKey(err)
	}
	id, err := paymentID(r)
	return accept.Amendment{
		MerchantID: m.ID, PaymentID: id, IdempotencyKey: key, ChecksIdentifiers: m.ChecksIdentifiers,
		TraceParent: single(r.Header, "Traceparent"), CorrelationID: single(r.Header, "X-Correlation-Id"), CausationID: single(r.Header, "X-Request-Id"),
	}, err
}

// getRefund tells the state of one of the merchant's own refunds.
func (a *api) getRefund(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return noSuchRefund()
	}
	view, found, err := operation.Refund(r.Context(), a.Pool, m.ID, id)
	if err == nil && !found {
		err = noSuchRefund()
	}
	if err != nil {
		return err
	}
	return sendJSON(w, view)
}

func noSuchRefund() error { return problem.ResourceNotFound.Failure("There is no such refund.") }

// refundPage is one page of a payment's refunds, oldest first.
type refundPage struct {
	Refunds []payment.RefundView `json:"refunds"`
	Next    *string              `json:"next"` // the cursor of the next page, null on the last one
}

// getRefunds lists the refunds of one of the merchant's own payments.
func (a *api) getRefunds(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	id, err := paymentID(r)
	if err != nil {
		return err
	}
	q, err := readQuery(r.URL, paramCursor, paramLimit)
	if err != nil {
		return err
	}
	list, after, limit := "refunds "+id.String(), uuid.Nil, q.limit()
	if place := q.place(list, len(after)); place != nil {
		after = uuid.UUID(place)
	}
	if err := q.broken(); err != nil {
		return err
	}
	if _, err := a.view(r.Context(), m.ID, id); err != nil {
		return err
	}
	found, err := operation.RefundsOf(r.Context(), a.Pool, id, after, limit+1)
	if err != nil {
		return err
	}
	page := refundPage{Refunds: append([]payment.RefundView{}, found[:min(len(found), limit)]...)} // [], not null
	if len(found) > limit {
		last := found[limit-1].ID
		page.Next = new(sealCursor(list, last[:]))
	}
	return sendJSON(w, page)
}
