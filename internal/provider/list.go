package provider

import (
	"context"
	"time"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Movement is one movement as a provider's list tells it.
type Movement struct {
	// Reference is ours, empty where the provider has none: somebody else's
	// movement on the same account.
	Reference string
	ObjectID  string
	// Kind and Verdict say what it is and where it stands now. VerdictUnclear is a
	// state that the connector does not know.
	Kind    payment.Kind
	Verdict payment.Verdict
	// Amount is what the provider says; zero when it cannot be read as money.
	Amount    money.Amount
	CreatedAt time.Time
}

// ListQuery asks for the movements that were created in [From, To). Cursor is
// empty for the first page and then what the page before said.
type ListQuery struct {
	From, To time.Time
	Cursor   string
}

// Page is one page of a list. An empty Next is the last one.
type Page struct {
	Movements []Movement
	Next      string
}

// Lister is a connector whose provider lists movements by time, whether we know of
// them or not. It moves nothing. A page that could not be read whole is an error
// and never a shorter page: what is absent from a list may one day be evidence.
type Lister interface {
	List(ctx context.Context, q ListQuery) (Page, error)
}
