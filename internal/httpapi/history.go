package httpapi

import (
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// historyPage is a page of what happened to a payment, oldest first.
type historyPage struct {
	Events []historyEntry `json:"events"`
	Next   *string        `json:"next"` // the cursor of the next page, null on the last one
}

// historyEntry is a move of one of the payment's operations.
type historyEntry struct {
	OperationID uuid.UUID    `json:"operationId"`
	Kind        payment.Kind `json:"kind"`
	// From and To are states of the payment where the operation is its charge. From is
	// null when the operation was made.
	From   *string   `json:"from"`
	To     string    `json:"to"`
	Reason *string   `json:"reason"`
	At     time.Time `json:"at"`
	// Event is what told of it, null when nobody was told.
	Event *historyEvent `json:"event"`
}

// historyEvent names an event as it was published.
type historyEvent struct {
	ID   uuid.UUID  `json:"id"`
	Type event.Type `json:"type"`
}

// getHistory shows what happened to one of the merchant's own payments.
func (a *api) getHistory(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	id, err := paymentID(r)
	if err != nil {
		return err
	}
	q, err := readQuery(r.URL, paramCursor, paramLimit)
	if err != nil {
		return err
	}
	list := "history " + id.String()
	wanted := operation.HistoryPage{Owned: operation.Owned{PaymentID: id, MerchantID: m.ID}, Limit: q.limit()}
	if place := q.place(list, seqBytes); place != nil {
		wanted.After = int64(binary.BigEndian.Uint64(place)) //nolint:gosec // the same bits
	}
	if err := q.broken(); err != nil {
		return err
	}
	entries, more, err := operation.ReadHistory(r.Context(), a.Pool, wanted)
	if errors.Is(err, operation.ErrNoPayment) {
		return noSuchPayment()
	}
	if err != nil {
		return err
	}
	page := historyPage{Events: make([]historyEntry, len(entries))}
	for i, h := range entries {
		page.Events[i] = shown(h)
	}
	if more {
		seq := uint64(entries[len(entries)-1].Seq) //nolint:gosec // the same bits
		page.Next = new(sealCursor(list, binary.BigEndian.AppendUint64(nil, seq)))
	}
	return sendJSON(w, page)
}

// seqBytes is what a place in a history takes.
const seqBytes = 8

// shown is an entry as clients see it, in the words of what the client knows: a
// charge's states are its payment's, and a refund's are its own.
func shown(h operation.Happened) historyEntry {
	state := func(s payment.OperationState) string {
		if h.Kind == payment.KindCharge {
			return string(s.PaymentState())
		}
		return string(s)
	}
	entry := historyEntry{OperationID: h.OperationID, Kind: h.Kind, To: state(h.To), At: h.At}
	if h.From != "" {
		entry.From = new(state(h.From))
	}
	if h.Reason != "" {
		entry.Reason = &h.Reason
	}
	if h.EventID != uuid.Nil {
		entry.Event = &historyEvent{ID: h.EventID, Type: h.EventType}
	}
	return entry
}

func aboutGetHistory() about {
	return about{
		id: "getPaymentEvents", tag: tagPayments, summary: "Tell what happened to a payment",
		description: "What happened to the payment's charge and refunds, oldest first, in pages: what was taken on, and what became of it. " +
			"That a worker took something up is no entry. An entry names the event that told of it, by the id that it has on the topic. " +
			"A charge's states are those of the payment, a refund's are its own.",
		parameters: []string{"payment-id", paramCursor, paramLimit},
		answers:    []success{{status: http.StatusOK, when: "One page.", body: historyPage{}}},
		problems:   []problem.Problem{problem.ResourceNotFound, problem.InvalidRequest},
	}
}
