package rig

import (
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

// Refunded returns how often the provider gave the refund's money back, and how many
// requests for it arrived.
func (r *Rig) Refunded(refund operation.NewPayment) (refunded, sends int) {
	counts := r.Sim.Oracle().References[refund.OperationID.String()]
	return counts.Refunded, counts.Sends
}
