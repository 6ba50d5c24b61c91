package httpapi

import (
	"sync"

	"github.com/google/uuid"
)

// MerchantInFlightMax leaves half of the requests that are worked on to others: without
// it one merchant whose bodies come slowly would hold all of them. A request counts here
// until its answer is written, which bounds the answers that are kept for clients that
// read slowly.
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
