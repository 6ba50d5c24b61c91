package app_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pspsim"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The provider answers nobody: the only way in which anyone can learn of the charge
// within the test is the webhook, by intake and reconciler.
func TestU8_AWebhookGoesFromTheProviderThroughIntakeToThePayment(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := start(t, b, app.Intake, "PAYONCE_PROVIDER_WEBHOOK_SECRETS="+webhookSecret)
	addr, ok := intake.fields["http_addr"].(string)
	require.True(t, ok)
	require.NoError(t, b.provider.SetWebhooks(pspsim.Webhooks{URL: "http://" + addr + "/v1/providers/card/webhooks", Secret: webhookSecret}))
	step, err := pspsim.ParseStep("cut_after")
	require.NoError(t, err)
	require.NoError(t, b.provider.SetFaults(pspsim.Faults{
		Inquiry: pspsim.InquiryOff, Scripts: []pspsim.Script{{Reference: "*", Steps: []pspsim.Step{step, step, step, step}}},
	}))
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	start(t, b, app.Reconciler)
	c := newClient(t, b, intake)
	status, paid := c.pay(t, "INV-1", "10.00")
	require.Equal(t, http.StatusAccepted, status, paid)
	require.Eventually(t, func() bool {
		var captured int
		err := b.App.QueryRow(context.WithoutCancel(t.Context()), `SELECT count(*) FROM payment p JOIN operation o ON o.payment_id = p.id
			JOIN provider_event e ON e.operation_id = o.id WHERE p.state = 'captured' AND e.state = 'applied'`).Scan(&captured)
		require.NoError(t, err)
		return captured == 1
	}, time.Minute, 20*time.Millisecond)
	require.Zero(t, intake.logs.FilterMessageSnippet("webhooks of this account are refused").Len())
	require.NoError(t, b.provider.SetWebhooks(pspsim.Webhooks{}))
}

func TestU8_O6_AnAccountWithoutSecretsIsNamedAtStart(t *testing.T) {
	t.Parallel()
	intake := start(t, newBundle(t), app.Intake)
	told := intake.logs.FilterMessageSnippet("webhooks of this account are refused").All()
	require.Len(t, told, 1)
	require.Equal(t, "card", told[0].ContextMap()["provider_account"])
}

func TestU8_O6_ASecretThatIsNoneIsRefusedAtStart(t *testing.T) {
	t.Parallel()
	intake, ok := app.Find("intake")
	require.True(t, ok)
	list := "PAYONCE_PROVIDER=card=simulated,card-b=stripe"
	require.NoError(t, intake.Check(environ(list, "PAYONCE_PROVIDER_WEBHOOK_SECRETS="+webhookSecret+",whsec_0123456789abcdef0123")))
	err := intake.Check(environ(list, "PAYONCE_PROVIDER_WEBHOOK_SECRETS="+webhookSecret+"|whsec_short,s3cret"))
	require.ErrorContains(t, err, "number 2 of account card:")
	require.ErrorContains(t, err, "number 1 of account card-b:")
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), "whsec_short")
}
