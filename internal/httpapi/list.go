package httpapi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/payment"
)

// paymentPage is a page of a merchant's payments, newest first.
type paymentPage struct {
	Payments []payment.View `json:"payments"`
	Next     *string        `json:"next"` // the cursor of the next page, null on the last one
}

// listPayments shows the merchant's payments, newest first.
func (a *api) listPayments(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	filter, err := readFilter(r, m.ID)
	if err != nil {
		return err
	}
	views, more, err := operation.List(r.Context(), a.Pool, filter)
	if err != nil {
		return err
	}
	page := paymentPage{Payments: views}
	if more {
		last := views[len(views)-1]
		page.Next = new(sealCursor(listName(filter), encodePlace(operation.Place{CreatedAt: last.CreatedAt, ID: last.ID})))
	}
	return sendJSON(w, page)
}

// readFilter makes a filter of the query.
func readFilter(r *http.Request, merchantID uuid.UUID) (operation.ListFilter, error) {
	q, err := readQuery(r.URL, paramCursor, paramLimit, accept.FieldInvoiceID, accept.FieldExternalReference,
		paramState, paramCreatedAfter, paramCreatedBefore)
	if err != nil {
		return operation.ListFilter{}, err
	}
	f := operation.ListFilter{
		MerchantID: merchantID, InvoiceID: q.identifier(accept.FieldInvoiceID),
		ExternalReference: q.identifier(accept.FieldExternalReference),
		State:             q.state(), CreatedFrom: q.time(paramCreatedAfter), CreatedBefore: q.time(paramCreatedBefore), Limit: q.limit(),
	}
	if f.InvoiceID != "" && f.ExternalReference != "" {
		q.refuse(accept.FieldExternalReference, "cannot be given together with "+accept.FieldInvoiceID)
	}
	if place := q.place(listName(f), placeBytes); place != nil {
		f.After = new(decodePlace(place))
	}
	return f, q.broken()
}

// state reads a state of payments, empty when there is none.
func (q *query) state() payment.State {
	text, given := q.text(paramState)
	if given && !slices.Contains(payment.States[:], payment.State(text)) {
		names := make([]string, len(payment.States))
		for i, s := range payment.States {
			names[i] = string(s)
		}
		q.refuse(paramState, "is not one of "+strings.Join(names, ", "))
	}
	return payment.State(text)
}

// listName names a list by what is on it: pages of one length and of another are the
// same list.
func listName(f operation.ListFilter) string {
	return fmt.Sprintf("payments %s %q %q %q %s %s", f.MerchantID, f.InvoiceID, f.ExternalReference, f.State,
		f.CreatedFrom.Format(time.RFC3339Nano), f.CreatedBefore.Format(time.RFC3339Nano))
}

// placeBytes is what a place in the list of payments takes: microseconds and an id.
const placeBytes = 8 + len(uuid.UUID{})

func encodePlace(p operation.Place) []byte {
	return append(binary.BigEndian.AppendUint64(nil, uint64(p.CreatedAt.UnixMicro())), p.ID[:]...)
}

func decodePlace(place []byte) operation.Place {
	micros := int64(binary.BigEndian.Uint64(place)) //nolint:gosec // the same bits
	return operation.Place{CreatedAt: time.UnixMicro(micros).UTC(), ID: uuid.UUID(place[8:])}
}

func sendJSON(w http.ResponseWriter, answer any) error {
	body, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("rendering an answer: %w", err)
	}
	send(w, http.StatusOK, "application/json", body)
	return nil
}

func aboutListPayments() about {
	return about{
		id: "listPayments", tag: tagPayments, summary: "List payments",
		description: "The merchant's payments, newest first, in pages. `next` is the cursor of the page behind, for a request with the same " +
			"filters; it is null on the last page. What is accepted meanwhile moves nothing on the pages behind. A payment is on a page of a " +
			"state while it is in that state.",
		parameters: []string{paramCursor, paramLimit, accept.FieldInvoiceID, accept.FieldExternalReference, paramState,
			paramCreatedAfter, paramCreatedBefore},
		answers:  []success{{status: http.StatusOK, when: "One page.", body: paymentPage{}}},
		problems: []problem.Problem{problem.InvalidRequest},
	}
}
