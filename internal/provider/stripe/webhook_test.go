package stripe_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

const (
	secret    = "whsec_1"
	tolerance = provider.WebhookTolerance
)

func notifier(t *testing.T) provider.Notifier {
	t.Helper()
	return connect(t, "http://127.0.0.1:1", stripe.Options{})
}

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
	n := notifier(t)
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
		told, err := n.Verify(provider.Webhook{Header: signed(body, now, secret), Body: []byte(body)}, []string{secret}, now)
		require.NoError(t, err, c.kind)
		require.Equal(t, []string{"evt_1", c.kind}, []string{told.ID, told.Type})
		notice, err := n.ReadNotice([]byte(body))
		require.NoError(t, err, c.kind)
		require.Equal(t, told.Says, notice.Digest())
		require.Equal(t, c.movement, notice.Kind)
		require.Equal(t, c.verdict, notice.Verdict)
		require.Equal(t, c.objectID, notice.ObjectID)
		require.Equal(t, "test", notice.Mode)
		require.Equal(t, time.Unix(1_800_000_000, 0).UTC(), notice.OccurredAt)
		if c.objectID == "" {
			require.Empty(t, notice.Reference)
			continue
		}
		require.Equal(t, "REF", notice.Reference)
		require.Equal(t, c.amount, notice.Amount.String())
	}
}

// Two endpoints of ours may ask for two versions of the API, and the number of
// deliveries that are left changes from one to the next.
func TestU8_OneEventInTwoVersionsSaysTheSame(t *testing.T) {
	t.Parallel()
	n, now := notifier(t), time.Now()
	says := func(body string) []byte {
		told, err := n.Verify(provider.Webhook{Header: signed(body, now, secret), Body: []byte(body)}, []string{secret}, now)
		require.NoError(t, err)
		return told.Says
	}
	first := event("payment_intent.succeeded", paid)
	other := strings.Replace(strings.Replace(first, "2020-08-27", "2026-03-25", 1), `"object":"event"`, `"object":"event","pending_webhooks":1`, 1)
	require.NotEqual(t, first, other)
	require.Equal(t, says(first), says(other))
	for _, change := range [][2]string{
		{`"amount_received":1000`, `"amount_received":999`}, {"REF", "FER"}, {"pi_1", "pi_2"}, {`"status":"succeeded"`, `"status":"processing"`},
		{`"object":"event"`, `"object":"event","livemode":true`}, {`"object":"event"`, `"object":"event","account":"acct_2"`},
	} {
		require.NotEqual(t, says(first), says(strings.Replace(first, change[0], change[1], 1)), change)
	}
}

func TestU8_AnEventOfTheOtherModeIsNotOurs(t *testing.T) {
	t.Parallel()
	for key, live := range map[string]bool{"sk_live_1": true, "rk_test_1": false} {
		c := connect(t, "http://127.0.0.1:1", stripe.Options{Key: key, Account: "acct_1"})
		for _, told := range []bool{true, false} {
			body := strings.Replace(event("payment_intent.succeeded", paid), `"object":"event"`, fmt.Sprintf(`"object":"event","livemode":%t`, told), 1)
			notice, err := c.ReadNotice([]byte(body))
			require.NoError(t, err)
			require.Equal(t, told == live, notice.IsOf(c.Recipe()), "%s %t", key, told)
		}
	}
	live := connect(t, "http://127.0.0.1:1", stripe.Options{Key: "sk_live_1", Account: "acct_1"})
	test := connect(t, "http://127.0.0.1:1", stripe.Options{Key: "sk_test_1", Account: "acct_1"})
	require.False(t, provider.SameAccount(live.Recipe(), test.Recipe()), "what was sent in one mode is unknown in the other")
}

func TestU8_APaymentIntentThatWeMadeIsNoNews(t *testing.T) {
	t.Parallel()
	notice, err := notifier(t).ReadNotice([]byte(event("payment_intent.created", strings.Replace(paid, "succeeded", "requires_confirmation", 1))))
	require.NoError(t, err)
	require.Empty(t, notice.Kind)
}

func TestU8_AWebhookIsBelievedByItsSignatureAlone(t *testing.T) {
	t.Parallel()
	n, now := notifier(t), time.Now()
	body := event("payment_intent.succeeded", paid)
	two := signed(body, now, secret)
	two["Stripe-Signature"] = append(two["Stripe-Signature"], two["Stripe-Signature"][0])
	reordered := signed(body, now, secret)
	reordered["Stripe-Signature"][0] += ",t=1"
	own := func(body string) http.Header { return signed(body, now, secret) }
	noEvent, noObject, noNumber := `{"object":"payment_intent"}`, event("x", `7`), event("x", `{"object":"refund","id":"re","amount":"1"}`)
	old, early := signed(body, now.Add(-tolerance-2*time.Second), secret), signed(body, now.Add(tolerance+2*time.Second), secret)
	for name, c := range map[string]struct {
		header  http.Header
		body    string
		secrets []string
		err     error
	}{
		"the newer of two secrets":      {signed(body, now, "whsec_2"), body, []string{secret, "whsec_2"}, nil},
		"at the tolerance":              {signed(body, now.Add(-tolerance+time.Second), secret), body, []string{secret}, nil},
		"too old":                       {old, body, []string{secret}, provider.ErrWebhookTime},
		"from the future":               {early, body, []string{secret}, provider.ErrWebhookTime},
		"another secret":                {signed(body, now, "whsec_2"), body, []string{secret}, provider.ErrWebhookSignature},
		"no secret":                     {signed(body, now, ""), body, []string{""}, provider.ErrWebhookSignature},
		"no secrets":                    {signed(body, now, secret), body, nil, provider.ErrWebhookSignature},
		"not signed":                    {http.Header{}, body, []string{secret}, provider.ErrWebhookSignature},
		"two signatures":                {two, body, []string{secret}, provider.ErrWebhookSignature},
		"two times":                     {reordered, body, []string{secret}, provider.ErrWebhookSignature},
		"another byte":                  {signed(body, now, secret), body + " ", []string{secret}, provider.ErrWebhookSignature},
		"signed and no event":           {own(noEvent), noEvent, []string{secret}, provider.ErrWebhookFormat},
		"signed and no JSON":            {signed(`x`, now, secret), `x`, []string{secret}, provider.ErrWebhookFormat},
		"signed, about nothing at all":  {own(noObject), noObject, []string{secret}, provider.ErrWebhookFormat},
		"signed, an amount in a string": {own(noNumber), noNumber, []string{secret}, provider.ErrWebhookFormat},
	} {
		_, err := n.Verify(provider.Webhook{Header: c.header, Body: []byte(c.body)}, c.secrets, now)
		if err == nil {
			_, err = n.ReadNotice([]byte(c.body))
		}
		require.ErrorIs(t, err, c.err, name)
	}
}

func TestU8_AWebhookIsCheckedAtTheDoorAndReadLater(t *testing.T) {
	t.Parallel()
	n, now := notifier(t), time.Now()
	verify := func(body string, at time.Time, by string) (provider.SignedEvent, error) {
		header := signed(body, at, by)
		return n.Verify(provider.Webhook{Header: header, Body: []byte(body)}, []string{secret}, now)
	}
	body := event("payment_intent.succeeded", paid)
	told, err := verify(body, now, secret)
	require.NoError(t, err)
	require.Equal(t, []string{"evt_1", "payment_intent.succeeded"}, []string{told.ID, told.Type})
	require.Contains(t, told.Headers["stripe-signature"], "v1=")
	notice, err := n.ReadNotice([]byte(body))
	require.NoError(t, err)
	require.Equal(t, []any{payment.KindCharge, payment.VerdictCaptured, "REF", "pi_1", "10.00 TRY"},
		[]any{notice.Kind, notice.Verdict, notice.Reference, notice.ObjectID, notice.Amount.String()})

	_, err = verify(body, now, "whsec_2")
	require.ErrorIs(t, err, provider.ErrWebhookSignature)
	_, err = verify(body, now.Add(-time.Hour), secret)
	require.ErrorIs(t, err, provider.ErrWebhookTime)
	told, err = verify("no event", now, secret)
	require.NoError(t, err, "it is signed, so it is kept")
	require.Empty(t, told.ID)
	_, err = n.ReadNotice([]byte("no event"))
	require.ErrorIs(t, err, provider.ErrWebhookFormat)
	require.Error(t, n.CheckSecret("sk_test_1"))
}
