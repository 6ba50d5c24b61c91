package httpapi

import (
	"net/http"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/payment"
)

func aboutPostCancel() about {
	return about{
		id: "cancelPayment", tag: tagPayments, summary: "Cancel a payment that was not sent yet",
		description: "A payment can be canceled while it is `created` and was surely never sent to the provider. Its invoice is free again then. " +
			"One that is canceled already is answered in the same way.",
		keyed:      true,
		parameters: []string{"payment-id", "X-Correlation-Id", "X-Request-Id", "traceparent"},
		body:       noBody{},
		answers: []success{{
			status: http.StatusOK, when: "The payment is canceled, now or before.", body: payment.View{}, headers: []string{"Idempotent-Replayed"},
		}},
		problems: []problem.Problem{problem.ResourceNotFound, problem.NotCancelable},
	}
}

func aboutPostRefund() about {
	return about{
		id: "createRefund", tag: tagPayments, summary: "Give a captured payment back, all of it or a part",
		description: "The refund takes place once, however often the request is repeated with its key. Its reference is unique for the payment for ever, " +
			"also after it failed. The refunds of a payment that have not failed never come to more than was captured.",
		keyed:      true,
		parameters: []string{"payment-id", "X-Correlation-Id", "X-Request-Id", "traceparent"},
		body:       accept.RefundBody{},
		answers: []success{
			{
				status: http.StatusCreated, when: "A repeat of a request whose refund is final. The outcome stands in `state`.",
				body: payment.RefundView{}, headers: []string{"Location", "Idempotent-Replayed"},
			},
			{
				status: http.StatusAccepted, when: "The refund was taken on, now or before, and is not final yet.",
				body: payment.RefundView{}, headers: []string{"Location", "Idempotent-Replayed"},
			},
		},
		problems: []problem.Problem{
			problem.ResourceNotFound, problem.NotRefundable, problem.RefundReferenceUse, problem.RefundBeyondLimit, problem.RefundsUnsupported,
		},
	}
}

func aboutGetRefund() about {
	return about{
		id: "getRefund", tag: tagPayments, summary: "Tell the state of a refund",
		description: "An open refund is being worked on or checked. It has not failed, and the money must not be given back in another way.",
		parameters:  []string{"refund-id"},
		answers:     []success{{status: http.StatusOK, when: "The refund as it is now.", body: payment.RefundView{}}},
		problems:    []problem.Problem{problem.ResourceNotFound},
	}
}

func aboutGetRefunds() about {
	return about{
		id: "listRefunds", tag: tagPayments, summary: "List the refunds of a payment",
		description: "Oldest first, in pages. `next` is the cursor of the page behind; it is null on the last page.",
		parameters:  []string{"payment-id", paramCursor, paramLimit},
		answers:     []success{{status: http.StatusOK, when: "A page of refunds.", body: refundPage{}}},
		problems:    []problem.Problem{problem.ResourceNotFound, problem.InvalidRequest},
	}
}
