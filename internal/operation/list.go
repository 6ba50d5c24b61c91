package operation

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// ListPageMax bounds one page of payments or of history.
const ListPageMax = 100

// Place is a payment's place in a list: its time, and its id among those of one time.
type Place struct {
	CreatedAt time.Time // in microseconds, as the database keeps it
	ID        uuid.UUID
}

// ListFilter chooses payments of one merchant. What is zero does not narrow the list,
// and of InvoiceID and ExternalReference one may be given.
type ListFilter struct {
	MerchantID        uuid.UUID
	InvoiceID         string
	ExternalReference string
	State             payment.State
	CreatedFrom       time.Time // at or after
	CreatedBefore     time.Time // before
	After             *Place    // the last one of the page before, nil for the first page
	Limit             int       // at most ListPageMax
}

//go:embed list.sql
var listSQL string

// the end of time, beyond every payment's
var endOfTime = Place{CreatedAt: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}

// List returns one page of payments as they stand now, newest first and never nil, and
// whether there are more behind it. A page stands still while payments are accepted; one whose commit
// comes late may appear on a page that was read already, and is then not seen there.
// With a State, a payment that moves between two pages is on the page of where it is.
func List(ctx context.Context, q Querier, f ListFilter) (page []payment.View, more bool, err error) {
	limit := min(max(f.Limit, 1), ListPageMax)
	before := f.before()
	rows, err := q.Query(ctx, listSQL, f.MerchantID, f.states(), f.InvoiceID, f.ExternalReference, f.CreatedFrom,
		before.CreatedAt, before.ID, limit+1)
	if err != nil {
		return nil, false, fmt.Errorf("listing payments: %w", err)
	}
	page, err = pgx.CollectRows(rows, scanView)
	if err != nil {
		return nil, false, fmt.Errorf("listing payments: %w", err)
	}
	return page[:min(len(page), limit)], len(page) > limit, nil
}

// before is where the page begins, itself not on it.
func (f ListFilter) before() Place {
	switch {
	case f.After != nil:
		return *f.After // it matched the filter, so it lies before CreatedBefore
	case !f.CreatedBefore.IsZero():
		return Place{CreatedAt: f.CreatedBefore} // before every id of this moment
	default:
		return endOfTime
	}
}

func (f ListFilter) states() []string {
	if f.State != "" {
		return []string{string(f.State)}
	}
	return postgres.Column(payment.States[:], func(s payment.State) string { return string(s) })
}
