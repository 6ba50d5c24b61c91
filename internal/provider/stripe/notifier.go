package stripe

import (
	"errors"
	"strings"
	"time"

	"github.com/payonce/payonce/internal/provider"
)

// CheckSecret implements provider.Notifier.
func (c *Connector) CheckSecret(secret string) error {
	if !strings.HasPrefix(secret, "whsec_") || len(secret) < len("whsec_")+16 {
		return errors.New("stripe's webhook secrets begin with whsec_; see the endpoint's page in the Dashboard")
	}
	return nil
}

// Verify implements provider.Notifier. An event that is signed and cannot be read is
// no error here: it is kept, and ReadNotice says what is wrong with it.
func (c *Connector) Verify(w provider.Webhook, secrets []string, now time.Time) (provider.SignedEvent, error) {
	e, err := VerifyWebhook(w.Header, w.Body, secrets, now)
	switch {
	case errors.Is(err, ErrWebhookTime):
		return provider.SignedEvent{}, provider.ErrWebhookTime
	case err != nil && !errors.Is(err, ErrWebhookFormat):
		return provider.SignedEvent{}, provider.ErrWebhookSignature
	}
	headers := map[string]string{"stripe-signature": w.Header.Get("Stripe-Signature")}
	return provider.SignedEvent{ID: e.ID, Type: e.Type, Headers: headers}, nil
}

// ReadNotice implements provider.Notifier.
func (c *Connector) ReadNotice(body []byte) (provider.Notice, error) {
	e, err := readEvent(body)
	if err != nil {
		return provider.Notice{}, provider.ErrWebhookFormat
	}
	return provider.Notice{
		Account: e.Account, Kind: e.Kind, Reference: e.Reference, ObjectID: e.ObjectID, Verdict: e.Verdict,
		Amount: e.Amount, Reason: e.Reason, OccurredAt: e.CreatedAt,
	}, nil
}

var _ provider.Notifier = (*Connector)(nil)
