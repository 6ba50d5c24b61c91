package proof_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	// refundsEach are asked for of each held payment, of refundMinor.
	refundsEach = 2
	refundMinor = 300
)

// refundHeld has parts of the held payments refunded, each asked for twice.
func (s *stage) refundHeld() {
	s.t.Helper()
	s.refunds = map[string]bool{}
	for _, p := range s.held {
		for i := range refundsEach {
			for range 2 {
				body := fmt.Sprintf(`{"refundReference":"R-%d","amount":"3.00"}`, i)
				a, err := s.client.send(s.t.Context(), "/v1/payments/"+p.body.ID+"/refunds", fmt.Sprintf("R-%d-%s", i, p.body.ID), body)
				require.NoError(s.t, err)
				require.Contains(s.t, []int{http.StatusAccepted, http.StatusCreated}, a.status)
				s.refunds[a.body.ID] = true
			}
		}
	}
	require.Len(s.t, s.refunds, refundsEach*held, "the second request got the first one's refund")
}

// awaitOpenCalls waits until the provider is being asked for charges and for refunds.
func (s *stage) awaitOpenCalls() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		var charge, refund bool
		for reference, counts := range s.oracle().References {
			if counts.Open > 0 {
				refund = refund || s.refunds[reference]
				charge = charge || !s.refunds[reference]
			}
		}
		return charge && refund
	}, patience, time.Millisecond, "the provider was never asked for both")
}

func (s *stage) requireKilledCalls() {
	s.t.Helper()
	for _, kind := range []string{"charge", "refund"} {
		require.Positive(s.t, s.count("SELECT count(*) FROM operation WHERE state = 'processing' AND kind = $1", kind),
			"the kill hit a %s under way", kind)
	}
}

func (s *stage) awaitRefunds() {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.count("SELECT count(*) FROM operation WHERE kind = 'refund' AND state = 'succeeded'") == len(s.refunds)
	}, patience, 50*time.Millisecond, "not all refunds succeeded")
}
