package stripe

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/payonce/payonce/internal/provider"
)

// signatureHeader holds the signed time and a signature for each secret of an endpoint.
const signatureHeader = "Stripe-Signature"

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
	signatures := w.Header.Values(signatureHeader)
	if len(signatures) != 1 || !signedByAny(w.Body, signatures[0], secrets) {
		return provider.SignedEvent{}, provider.ErrWebhookSignature
	}
	signed, err := signedTime(signatures[0])
	if err != nil {
		return provider.SignedEvent{}, err
	}
	if age := now.Sub(signed); age > provider.WebhookTolerance || age < -provider.WebhookTolerance {
		return provider.SignedEvent{}, provider.ErrWebhookTime
	}
	told := provider.SignedEvent{Headers: map[string]string{strings.ToLower(signatureHeader): signatures[0]}}
	if e, err := readEvent(w.Body); err == nil {
		told.ID, told.Type = e.ID, string(e.Type)
	}
	if notice, err := c.ReadNotice(w.Body); err == nil {
		told.Says = notice.Digest()
	}
	return told, nil
}

// signedByAny leaves the time to the caller: the library compares with its own clock.
func signedByAny(body []byte, signature string, secrets []string) bool {
	valid := false
	for _, secret := range secrets {
		if secret != "" && webhook.ValidatePayloadIgnoringTolerance(body, signature, secret) == nil {
			valid = true
		}
	}
	return valid
}

// signedTime reads the t of "t=1495999758,v1=…". A second one would not be the one
// that was signed.
func signedTime(signature string) (time.Time, error) {
	var found []string
	for part := range strings.SplitSeq(signature, ",") {
		if text, ok := strings.CutPrefix(part, "t="); ok {
			found = append(found, text)
		}
	}
	if len(found) != 1 {
		return time.Time{}, provider.ErrWebhookSignature
	}
	seconds, err := strconv.ParseInt(found[0], 10, 64)
	if err != nil {
		return time.Time{}, provider.ErrWebhookSignature
	}
	return time.Unix(seconds, 0), nil
}

// ReadNotice implements provider.Notifier. A PaymentIntent that was only created says
// nothing that we did not do ourselves, so it is about no movement.
func (c *Connector) ReadNotice(body []byte) (provider.Notice, error) {
	e, err := readEvent(body)
	if err != nil {
		return provider.Notice{}, err
	}
	n := provider.Notice{Account: e.Account, Mode: testMode, OccurredAt: time.Unix(e.Created, 0).UTC()}
	if e.Livemode {
		n.Mode = liveMode
	}
	if e.Data == nil || e.Type == stripe.EventTypePaymentIntentCreated {
		return n, nil
	}
	return about(n, e.Data.Raw)
}

func readEvent(body []byte) (stripe.Event, error) {
	var e stripe.Event
	if err := json.Unmarshal(body, &e); err != nil || e.Object != "event" || e.ID == "" || e.Type == "" {
		return stripe.Event{}, provider.ErrWebhookFormat
	}
	return e, nil
}

// about adds what the event says of a movement, if it is about one.
func about(n provider.Notice, raw json.RawMessage) (provider.Notice, error) {
	var kind struct {
		Object string `json:"object"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return provider.Notice{}, provider.ErrWebhookFormat
	}
	declared := capabilities(Options{})
	var m provider.Movement
	switch kind.Object {
	case objectIntent:
		var intent stripe.PaymentIntent
		if err := json.Unmarshal(raw, &intent); err != nil {
			return provider.Notice{}, provider.ErrWebhookFormat
		}
		m = listedIntent(declared, &intent)
		_, n.Reason = verdictOf(&intent)
	case objectRefund:
		var refund stripe.Refund
		if err := json.Unmarshal(raw, &refund); err != nil {
			return provider.Notice{}, provider.ErrWebhookFormat
		}
		m = listedRefund(declared, &refund)
		_, n.Reason = verdictOfRefund(&refund)
	default:
		return n, nil
	}
	n.Reference, n.ObjectID, n.Kind, n.Verdict, n.Amount = m.Reference, m.ObjectID, m.Kind, m.Verdict, m.Amount
	return n, nil
}

var _ provider.Notifier = (*Connector)(nil)
