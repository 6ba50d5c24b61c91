// Package asyncapi describes what payonce writes to Kafka and reads from it.
//
//	types of pkg/event ──> JSON Schema per type, AsyncAPI 3 document
//
// It describes and never sends: the schemas come from the Go types that are encoded,
// so a member cannot be published without being described.
package asyncapi

import (
	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// message is one type of message.
type message struct {
	kind    event.Type
	summary string
	data    any    // a value of the payload's Go type
	state   string // the one value of the member state, if it has one
	taken   bool   // we read it; all others we write
}

// messages are all types, in the order in which a payment meets them.
var messages = []message{
	{kind: event.SubmitPayment, summary: "A merchant asks for a payment.", data: accept.PaymentBody{}, taken: true},
	{kind: event.PaymentAccepted, summary: "A command was taken on, now or before.", data: event.Accepted{}},
	{kind: event.PaymentRejected, data: problem.Document{},
		summary: "A command was not taken on, and why. Of the type `outcome-unknown`: it is not known whether it was."},
	{kind: event.PaymentRequested, summary: "A payment was taken on and is to be charged.", data: event.Requested{}},
	outcome(event.PaymentPending, payment.StatePending, "The provider took the charge; its result follows."),
	outcome(event.PaymentUnknown, payment.StateUnknown, "The charge may have been sent, and what became of it is being checked. It has not failed."),
	outcome(event.PaymentCaptured, payment.StateCaptured, "The money moved."),
	outcome(event.PaymentFailed, payment.StateFailed, "No money moved, and none will."),
	outcome(event.PaymentCanceled, payment.StateCanceled, "The payment was canceled before anything was sent."),
	{kind: event.RefundRequested, summary: "A refund was taken on.", data: event.RefundAsked{}},
	refunded(event.RefundCompleted, payment.OperationSucceeded, "The money went back."),
	refunded(event.RefundFailed, payment.OperationFailed, "No money went back, and none will for this refund."),
}

func outcome(kind event.Type, state payment.State, summary string) message {
	return message{kind: kind, summary: summary, data: event.Outcome{}, state: string(state)}
}

func refunded(kind event.Type, state payment.OperationState, summary string) message {
	return message{kind: kind, summary: summary, data: event.Refunded{}, state: string(state)}
}
