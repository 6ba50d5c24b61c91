package httpapi

import (
	"net/http"

	"github.com/payonce/payonce/internal/problem"
)

func aboutPostWebhook() about {
	return about{
		id: "receiveWebhook", tag: tagProviders, summary: "Store a provider's webhook",
		description: "For providers. The body and its signature are in the provider's own form; what is stored is worked off later.",
		noAPIKey:    true,
		parameters:  []string{"provider-account"},
		body:        anything{},
		answers:     []success{{status: http.StatusOK, when: "It is stored, now or before.", body: nothing{}}},
		problems:    []problem.Problem{problem.WebhookTooOld, problem.WebhookUnsigned, problem.ResourceNotFound},
	}
}
