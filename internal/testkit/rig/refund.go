package rig

import (
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// Captured is a payment that the worker has charged. The scheduler must be running.
func (r *Rig) Captured(options ...fixture.Option) operation.NewPayment {
	r.t.Helper()
	p := fixture.Accept(r.t, r.DB.App, options...)
	r.DueNow(p)
	r.AwaitState([]operation.NewPayment{p}, payment.StateCaptured)
	return p
}

// AwaitOperations waits until every operation is in one of the states. Of a refund, a
// payment has no state.
func (r *Rig) AwaitOperations(operations []operation.NewPayment, states ...payment.OperationState) {
	r.t.Helper()
	ids := make([]uuid.UUID, len(operations))
	for i, o := range operations {
		ids[i] = o.OperationID
	}
	require.Eventually(r.t, func() bool {
		return r.Count("SELECT count(*) FROM operation WHERE id = ANY ($1) AND state <> ALL ($2)", ids, states) == 0
	}, Patience, 10*time.Millisecond, "operations did not all become %v: %s", states, described{r})
}

// Refunded returns how often the provider gave the refund's money back, and how many
// requests for it arrived.
func (r *Rig) Refunded(refund operation.NewPayment) (refunded, sends int) {
	counts := r.Sim.Oracle().References[refund.OperationID.String()]
	return counts.Refunded, counts.Sends
}
