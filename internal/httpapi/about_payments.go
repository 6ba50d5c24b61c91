package httpapi

import (
	"net/http"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/pkg/payment"
)

func aboutPostPayment() about {
	return about{
		id: "createPayment", tag: tagPayments, summary: "Take a payment on",
		description: "The payment is charged once, however often the request is repeated with its key. " +
			"A repeat gets the same payment, and once that is final the very same bytes.",
		keyed:      true,
		parameters: []string{"Prefer", "X-Correlation-Id", "X-Request-Id", "traceparent"},
		body:       accept.PaymentBody{},
		answers: []success{
			{
				status: http.StatusCreated, when: "The payment is final: the request was repeated, or waited. The outcome stands in `state`.",
				body: payment.View{}, headers: []string{"Location", "Idempotent-Replayed", "Idempotency-Key-Derived", "Preference-Applied"},
			},
			{
				status: http.StatusAccepted, when: "The payment was taken on, now or before, and is not final yet.",
				body: payment.View{}, headers: []string{"Location", "Idempotent-Replayed", "Idempotency-Key-Derived", "Preference-Applied"},
			},
		},
		problems: []problem.Problem{problem.InvoiceHasPayment, problem.ReferenceIsInUse},
	}
}

func aboutGetPayment() about {
	return about{
		id: "getPayment", tag: tagPayments, summary: "Tell the state of a payment",
		description: "An open payment is being worked on or checked. It has not failed, and must not be paid again elsewhere.",
		parameters:  []string{"payment-id", "Prefer"},
		answers:     []success{{status: http.StatusOK, when: "The payment as it is now.", body: payment.View{}, headers: []string{"Preference-Applied"}}},
		problems:    []problem.Problem{problem.ResourceNotFound},
	}
}
