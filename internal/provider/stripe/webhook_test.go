package stripe_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

const secret = "whsec_1"

func signed(body string, at time.Time, by string) http.Header {
	s := webhook.GenerateTestSignedPayload(&webhook.UnsignedPayload{Payload: []byte(body), Secret: by, Timestamp: at})
	return http.Header{"Stripe-Signature": {s.Header}}
}

func event(kind, object string) string {
	return fmt.Sprintf(`{"id":"evt_1","object":"event","api_version":"2020-08-27","created":1800000000,"type":%q,"data":{"object":%s}}`, kind, object)
}

const (
	paid = `{"id":"pi_1","object":"payment_intent","status":"succeeded","amount":1000,"amount_received":1000,"currency":"try",` +
		`"metadata":{"operation_id":"REF"}}`
	failed = `{"id":"pi_1","object":"payment_intent","status":"requires_payment_method","amount":1000,"currency":"try",` +
		`"metadata":{"operation_id":"REF"},"last_payment_error":{"type":"card_error","code":"card_declined","decline_code":"stolen_card"}}`
	refunded = `{"id":"re_1","object":"refund","status":"succeeded","amount":400,"currency":"try","payment_intent":"pi_1",` +
		`"metadata":{"operation_id":"REF"}}`
	strange = `{"id":"cus_1","object":"customer","metadata":{"operation_id":"REF"}}`
)

func TestU8_ASignedWebhookSaysWhatHappened(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		kind, object     string
		movement         payment.Kind
		verdict          payment.Verdict
		amount, objectID string
	}{
		{"payment_intent.succeeded", paid, payment.KindCharge, payment.VerdictCaptured, "10.00 TRY", "pi_1"},
		{"payment_intent.payment_failed", failed, payment.KindCharge, payment.VerdictDeclined, "10.00 TRY", "pi_1"},
		{"refund.updated", refunded, payment.KindRefund, payment.VerdictCaptured, "4.00 TRY", "re_1"},
		{"customer.created", strange, "", payment.VerdictUnclear, "", ""},
	} {
		body := event(c.kind, c.object)
		e, err := stripe.VerifyWebhook(signed(body, now, secret), []byte(body), []string{secret}, now)
		require.NoError(t, err, c.kind)
		require.Equal(t, "evt_1", e.ID)
		require.Equal(t, c.kind, e.Type)
		require.Equal(t, c.movement, e.Kind)
		require.Equal(t, c.verdict, e.Verdict)
		require.Equal(t, c.objectID, e.ObjectID)
		require.Equal(t, time.Unix(1_800_000_000, 0).UTC(), e.CreatedAt)
		if c.objectID == "" {
			require.Empty(t, e.Reference)
			continue
		}
		require.Equal(t, "REF", e.Reference)
		require.Equal(t, c.amount, e.Amount.String())
	}
}

func TestU8_AWebhookIsBelievedByItsSignatureAlone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	body := event("payment_intent.succeeded", paid)
	two := signed(body, now, secret)
	two["Stripe-Signature"] = append(two["Stripe-Signature"], two["Stripe-Signature"][0])
	reordered := signed(body, now, secret)
	reordered["Stripe-Signature"][0] += ",t=1"
	own := func(body string) http.Header { return signed(body, now, secret) }
	noEvent, noObject, noNumber := `{"object":"payment_intent"}`, event("x", `7`), event("x", `{"object":"refund","id":"re","amount":"1"}`)
	for name, c := range map[string]struct {
		header  http.Header
		body    string
		secrets []string
		err     error
	}{
		"the newer of two secrets":      {signed(body, now, "whsec_2"), body, []string{secret, "whsec_2"}, nil},
		"at the tolerance":              {signed(body, now.Add(-stripe.WebhookTolerance+time.Second), secret), body, []string{secret}, nil},
		"too old":                       {signed(body, now.Add(-stripe.WebhookTolerance-2*time.Second), secret), body, []string{secret}, stripe.ErrWebhookTime},
		"from the future":               {signed(body, now.Add(stripe.WebhookTolerance+2*time.Second), secret), body, []string{secret}, stripe.ErrWebhookTime},
		"another secret":                {signed(body, now, "whsec_2"), body, []string{secret}, stripe.ErrWebhookSignature},
		"no secret":                     {signed(body, now, ""), body, []string{""}, stripe.ErrWebhookSignature},
		"no secrets":                    {signed(body, now, secret), body, nil, stripe.ErrWebhookSignature},
		"not signed":                    {http.Header{}, body, []string{secret}, stripe.ErrWebhookSignature},
		"two signatures":                {two, body, []string{secret}, stripe.ErrWebhookSignature},
		"two times":                     {reordered, body, []string{secret}, stripe.ErrWebhookSignature},
		"another byte":                  {signed(body, now, secret), body + " ", []string{secret}, stripe.ErrWebhookSignature},
		"signed and no event":           {own(noEvent), noEvent, []string{secret}, stripe.ErrWebhookFormat},
		"signed and no JSON":            {signed(`x`, now, secret), `x`, []string{secret}, stripe.ErrWebhookFormat},
		"signed, about nothing at all":  {own(noObject), noObject, []string{secret}, stripe.ErrWebhookFormat},
		"signed, an amount in a string": {own(noNumber), noNumber, []string{secret}, stripe.ErrWebhookFormat},
	} {
		_, err := stripe.VerifyWebhook(c.header, []byte(c.body), c.secrets, now)
		require.ErrorIs(t, err, c.err, name)
	}
}
