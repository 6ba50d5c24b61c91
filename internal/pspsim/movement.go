package pspsim

import (
	"fmt"
	"time"
)

// kind is which way a movement goes.
type kind string

const (
	kindCharge kind = "charge"
	kindRefund kind = "refund"
	kindVoid   kind = "void"
)

// prefixes make ids tell their kind, as real providers' do.
var prefixes = map[kind]string{kindCharge: "ch", kindRefund: "re", kindVoid: "vo"}

// Status is where a movement stands, as the wire says it.
type Status string

// The statuses. Captured means that the movement took place, whatever its kind.
const (
	StatusCaptured Status = "captured"
	StatusDeclined Status = "declined"
	StatusPending  Status = "pending"
	StatusVoided   Status = "voided"
)

// The codes that refusals and declines carry.
const (
	codeInsufficientFunds = "insufficient_funds"
	codeVoided            = "voided"
	codeRefused           = "refused"
	codeUnknownCharge     = "unknown_charge"
	codeNotRefundable     = "not_refundable"
	codeNotVoidable       = "not_voidable"
	codeKeyReused         = "idempotency_key_reused"
	codeTooMany           = "too_many_requests"
	codeInvalid           = "invalid_request"
	codeNotOffered        = "not_offered"
	codeBroken            = "storage_failed"
)

// Movement is one movement as the wire shows it.
type Movement struct {
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Reference string `json:"reference"`
	Status    Status `json:"status"`
	// AmountMinor is in minor units of Currency.
	AmountMinor int64     `json:"amountMinor"`
	Currency    string    `json:"currency"`
	Reason      string    `json:"reason,omitempty"`
	CreatedAt   time.Time `json:"createdAt"`
}

// movement is one movement as the book keeps it. All but status, reason and
// refunded never change, and may be read without the book's lock.
type movement struct {
	seq       uint64
	kind      kind
	account   *account
	charge    *movement // what a refund or void acts on
	amount    int64
	currency  string
	at        time.Time
	first     Status // what the first answer says
	firstCode string
	resolveAt time.Time // of a pending one
	resolveTo Status

	status   Status
	reason   string
	refunded int64 // of a charge, refunds still pending included
}

func (m *movement) id() string { return fmt.Sprintf("%s_%012d", prefixes[m.kind], m.seq) }

// firstAnswer is the answer that the first request got, whatever happened since.
func (m *movement) firstAnswer() Movement { return m.render(m.first, m.firstCode) }

// present is the movement as it stands now; it needs the book's lock.
func (m *movement) present() Movement { return m.render(m.status, m.reason) }

func (m *movement) render(status Status, reason string) Movement {
	return Movement{
		ID: m.id(), Kind: string(m.kind), Reference: m.account.reference, Status: status,
		AmountMinor: m.amount, Currency: m.currency, Reason: reason, CreatedAt: m.at,
	}
}

// account is all that is known about one reference.
type account struct {
	reference string
	movements []*movement
	closed    bool // the door: nothing with this reference is taken any more
	counts    Counts
}

// Counts is what the oracle says about one reference. They count movements, not
// money; Open counts calls in progress.
type Counts struct {
	// Charged counts charges that captured, also those voided later. More than
	// one is a double charge.
	Charged int `json:"charged"`
	// Voided counts those of Charged that have been voided.
	Voided int `json:"voided"`
	// Refunded counts refunds with this reference that took place.
	Refunded int `json:"refunded"`
	// Sends counts money-moving requests that arrived since the start, cut and
	// refused ones included.
	Sends int `json:"sends"`
	Open  int `json:"open"`
}

// Total is money in minor units of one currency.
type Total struct {
	// Charged is what captured charges hold; a void takes it back.
	Charged  int64 `json:"charged"`
	Refunded int64 `json:"refunded"`
}

// Oracle is the body of GET /oracle: what really happened.
type Oracle struct {
	Totals     map[string]Total  `json:"totals"`
	References map[string]Counts `json:"references"`
}
