package httpapi

import (
	"net/http"
	"sync"

	"github.com/google/uuid"

	"github.com/payonce/payonce/internal/merchant"
)

// MerchantInFlightMax leaves half of the requests that are worked on to others: without
// it one merchant whose bodies come slowly would hold all of them.
const MerchantInFlightMax = InFlightMax / 2

// shares counts each merchant's requests that are being worked on, or wait. It
// remembers nobody who has none, so it holds no more than there can be.
type shares struct {
	most int // of one merchant
	mu   sync.Mutex
	held map[uuid.UUID]int
}

func newShares(most int) shares { return shares{most: most, held: map[uuid.UUID]int{}} }

// take reports whether the merchant may have one request more. Who may gives it back.
func (s *shares) take(id uuid.UUID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[id] >= s.most {
		return false
	}
	s.held[id]++
	return true
}

func (s *shares) giveBack(id uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[id]--; s.held[id] == 0 {
		delete(s.held, id)
	}
}

// shared serves a request within its merchant's share.
func (a *api) shared(serve merchantEndpoint) merchantEndpoint {
	return func(w http.ResponseWriter, r *http.Request, m merchant.Merchant) error {
		if !a.shares.take(m.ID) {
			return tooFast(w, 0, "Too many of this merchant's requests are being worked on.")
		}
		defer a.shares.giveBack(m.ID)
		return serve(w, r, m)
	}
}
