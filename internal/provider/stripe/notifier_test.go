package stripe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU8_AWebhookIsCheckedAtTheDoorAndReadLater(t *testing.T) {
	t.Parallel()
	var n provider.Notifier
	n, err := stripe.New("http://127.0.0.1:1", stripe.Options{Key: "sk_test_1"})
	require.NoError(t, err)
	now := time.Now()
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
