package httpapi

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/problem"
)

// The parameters of lists, as clients know them.
const (
	paramCursor        = "cursor"
	paramLimit         = "limit"
	paramState         = "state"
	paramCreatedAfter  = "createdAfter"
	paramCreatedBefore = "createdBefore"
)

// limitDefault is the length of a page when the client names none.
const limitDefault = 20

// plainParameter is a parameter's name that may be shown again. What a client put in
// the place of a name by mistake could be a secret.
var plainParameter = regexp.MustCompile(`^[A-Za-z]{1,32}$`)

// query is what stands behind a path's question mark, and what is wrong with it.
type query struct {
	values url.Values
	accept.InvalidError
}

// readQuery takes known parameters, each of them once. What is ignored silently makes a
// client believe that its list is narrower than it is.
func readQuery(u *url.URL, known ...string) (*query, error) {
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return nil, problem.InvalidRequest.Failure("The query cannot be read: it is not encoded as the query of a URL.")
	}
	q := &query{values: values}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		switch {
		case slices.Contains(known, name):
			if len(values[name]) > 1 {
				q.refuse(name, "is given more than once")
			}
		case plainParameter.MatchString(name):
			q.refuse(name, "is not a parameter of this list")
		default:
			q.refuse("a parameter", "is not one of this list")
		}
	}
	return q, nil
}

func (q *query) refuse(name, broken string) {
	q.Fields = append(q.Fields, accept.FieldError{Field: name, Problem: broken})
}

// broken returns what is wrong with the query, nil when nothing is.
func (q *query) broken() error {
	if len(q.Fields) == 0 {
		return nil
	}
	return &q.InvalidError
}

// text returns a parameter and whether it was given.
func (q *query) text(name string) (string, bool) {
	return q.values.Get(name), q.values.Has(name)
}

// identifier reads an id of the merchant's own.
func (q *query) identifier(name string) string {
	text, given := q.text(name)
	if given {
		q.CheckIdentifier(name, text)
	}
	return text
}

// limit reads the length of a page.
func (q *query) limit() int {
	text, given := q.text(paramLimit)
	if !given {
		return limitDefault
	}
	limit, err := strconv.ParseUint(text, 10, 16)
	if err != nil || limit < 1 || limit > operation.ListPageMax {
		q.refuse(paramLimit, fmt.Sprintf("is not a number from 1 to %d", operation.ListPageMax))
		return limitDefault
	}
	return int(limit)
}

// time reads a moment, zero when there is none.
func (q *query) time(name string) time.Time {
	text, given := q.text(name)
	if !given {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		q.refuse(name, "is not a time in the form of RFC 3339, such as 2026-05-04T03:02:01Z (a plus sign is written %2B)")
		return time.Time{}
	}
	return at.UTC()
}

// place reads the cursor of a list. It returns nil when there is none.
func (q *query) place(list string, size int) []byte {
	text, given := q.text(paramCursor)
	if !given {
		return nil
	}
	place, ok := openCursor(list, text)
	if !ok || len(place) != size {
		q.refuse(paramCursor, "is not a cursor of this list with these filters: start over without it")
		return nil
	}
	return place
}
