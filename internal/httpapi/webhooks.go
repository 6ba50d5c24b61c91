package httpapi

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/problem"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/webhook"
)

// WebhooksInFlightMax bounds the webhooks that are being worked on, apart from the
// merchants' requests: a flood of either leaves the other alone. With the longest
// bodies they take 16 MiB.
const WebhooksInFlightMax = 64

// storeAgain is what a provider is told when its webhook could not be stored.
const storeAgain = "Send the webhook again: it is stored once."

// postWebhook stores a provider's webhook: 200 once it has committed, and for one that
// is known. Nothing is stored of one that is not signed, and what a stored one means
// is found out later.
func (a *api) postWebhook(w http.ResponseWriter, r *http.Request) error {
	body, err := readBytes(w, r, webhook.BodyBytesMax)
	if err != nil {
		return err
	}
	err = a.Webhooks.Receive(r.Context(), r.PathValue("account"), provider.Webhook{Header: r.Header, Body: body})
	switch {
	case err == nil:
		send(w, http.StatusOK, "application/json", []byte("{}"))
		return nil
	case errors.Is(err, webhook.ErrUnknownAccount):
		return problem.ResourceNotFound.Failure("No webhooks are taken for this account.")
	case errors.Is(err, provider.ErrWebhookSignature):
		return problem.WebhookUnsigned.Failure("The signature is missing, came twice, or is of none of the secrets.")
	case errors.Is(err, provider.ErrWebhookTime):
		return problem.WebhookTooOld.Failure(fmt.Sprintf("The signed time may be %s from now at most.", provider.WebhookTolerance))
	case postgres.IsUnanswered(err):
		return problem.ServiceUnavailable.Failure(storeAgain).Because(err)
	default:
		return problem.InternalError.Failure(storeAgain).Because(err)
	}
}
