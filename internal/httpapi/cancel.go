package httpapi

import (
	"net/http"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/merchant"
)

// noBody is the body of a request that has nothing to say: none, or an empty object.
type noBody struct{}

// postCancel ends a payment that was never sent: 200 with the payment, the same bytes
// for every repeat.
func (a *api) postCancel(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
	about, err := readAmendment(r, m)
	if err != nil {
		return err
	}
	if r.ContentLength != 0 {
		body, err := readBody(w, r)
		if err == nil {
			err = accept.CheckNothing(body)
		}
		if err != nil {
			return err
		}
	}
	done, err := a.Amendments.Cancel(r.Context(), about)
	if err != nil {
		return err
	}
	sendAnswer(w, &done.Answer, done.Replayed)
	return nil
}
