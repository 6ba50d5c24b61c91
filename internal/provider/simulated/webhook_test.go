package simulated_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/payment"
)

const webhookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

func newNotifier(t *testing.T) provider.Notifier {
	t.Helper()
	c, err := simulated.New(simulated.Full, "http://127.0.0.1:1", simulated.Options{})
	require.NoError(t, err)
	return c
}

// The example that implementations of Standard Webhooks test themselves with: a fault
// that signer and checker share would not be seen otherwise.
func TestU8_TheSignatureIsThatOfStandardWebhooks(t *testing.T) {
	t.Parallel()
	at, body := time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`)
	header := http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
	}
	signed, err := newNotifier(t).Verify(provider.Webhook{Header: header, Body: body}, []string{webhookSecret}, at)
	require.NoError(t, err)
	require.Equal(t, "msg_p5jXN8AQM9LWM0D4loKWxJek", signed.ID)
	require.Equal(t, header["Webhook-Signature"], pspsim.Sign(webhookSecret, signed.ID, at, body)["Webhook-Signature"])
}

func TestU8_AnEmptyOrBrokenSecretSignsNothing(t *testing.T) {
	t.Parallel()
	n := newNotifier(t)
	for _, secret := range []string{"", "whsec_", "whsec_AAAA", "no base64", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"} {
		require.Error(t, n.CheckSecret(secret), secret)
		w := provider.Webhook{Header: pspsim.Sign(secret, "evt_1", time.Now(), nil)}
		_, err := n.Verify(w, []string{secret}, time.Now())
		require.ErrorIs(t, err, provider.ErrWebhookSignature, secret)
	}
	require.NoError(t, n.CheckSecret(webhookSecret))
}

func TestU8_ANoticeSaysWhatTheProviderWrote(t *testing.T) {
	t.Parallel()
	n := newNotifier(t)
	told, err := n.ReadNotice([]byte(`{"type":"charge.declined","timestamp":"2026-01-02T03:04:05Z","data":{"id":"ch_1","kind":"charge",
		"reference":"REF","status":"declined","amountMinor":1000,"currency":"TRY","reason":"insufficient_funds","createdAt":"2026-01-01T00:00:00Z"}}`))
	require.NoError(t, err)
	require.Equal(t, "10.00 TRY", told.Amount.String())
	require.Equal(t, []any{payment.KindCharge, "REF", "ch_1", payment.VerdictDeclined, "insufficient_funds", time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		[]any{told.Kind, told.Reference, told.ObjectID, told.Verdict, told.Reason, told.OccurredAt})
	for _, body := range []string{
		"", "{}", `{"type":"charge.captured"}`,
		`{"type":"charge.captured","data":{"id":"ch_1","kind":"charge","reference":"REF","status":"declined","currency":"TRY"}}`,
		`{"type":"charge.captured","data":{"id":"re_1","kind":"refund","reference":"REF","status":"captured","currency":"TRY"}}`,
	} {
		_, err := n.ReadNotice([]byte(body))
		require.ErrorIs(t, err, provider.ErrWebhookFormat, body)
	}
	for _, body := range []string{`{"type":"charge.disputed","data":{"id":"ch_1"}}`, `{"type":"account.updated"}`} {
		told, err := n.ReadNotice([]byte(body))
		require.NoError(t, err)
		require.Empty(t, told.Kind, body)
	}
}
