package stripe

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v85"
	"github.com/stripe/stripe-go/v85/webhook"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// WebhookTolerance bounds how far a webhook's signed time may be from ours, either
// way: an older one may be a recording (https://docs.stripe.com/webhooks/signature).
const WebhookTolerance = 5 * time.Minute

// Errors of VerifyWebhook.
var (
	ErrWebhookSignature = errors.New("the webhook's signature is missing or is of none of our secrets")
	ErrWebhookTime      = errors.New("the webhook's signed time is too far from now")
	ErrWebhookFormat    = errors.New("the webhook is signed and not in stripe's format")
)

// WebhookEvent is what one webhook says. It is news about a moment that may be long
// past: events come late, twice and in any order.
type WebhookEvent struct {
	ID   string
	Type string
	// Account is set where the event is of a connected account.
	Account string
	// Reference is our operation's id, empty for what we did not make.
	Reference string
	// ObjectID is the PaymentIntent's or refund's id, empty for events about
	// anything else, which have no Kind, Verdict or Amount either.
	ObjectID  string
	Kind      payment.Kind
	Verdict   payment.Verdict
	Reason    string
	Amount    money.Amount
	CreatedAt time.Time
}

// VerifyWebhook checks the signature over the raw body against each secret, of which
// there are two while one is being replaced, and then the signed time. It reads no
// clock and changes nothing. Errors: ErrWebhookSignature, ErrWebhookTime,
// ErrWebhookFormat.
func VerifyWebhook(header http.Header, body []byte, secrets []string, now time.Time) (WebhookEvent, error) {
	signatures := header.Values("Stripe-Signature")
	if len(signatures) != 1 || !signedByAny(body, signatures[0], secrets) {
		return WebhookEvent{}, ErrWebhookSignature
	}
	signed, err := signedTime(signatures[0])
	if err != nil {
		return WebhookEvent{}, err
	}
	if age := now.Sub(signed); age > WebhookTolerance || age < -WebhookTolerance {
		return WebhookEvent{}, fmt.Errorf("%w: %s", ErrWebhookTime, age)
	}
	return readEvent(body)
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
		return time.Time{}, ErrWebhookSignature
	}
	seconds, err := strconv.ParseInt(found[0], 10, 64)
	if err != nil {
		return time.Time{}, ErrWebhookSignature
	}
	return time.Unix(seconds, 0), nil
}

func readEvent(body []byte) (WebhookEvent, error) {
	var e stripe.Event
	if err := json.Unmarshal(body, &e); err != nil || e.Object != "event" || e.ID == "" || e.Type == "" {
		return WebhookEvent{}, ErrWebhookFormat
	}
	told := WebhookEvent{ID: e.ID, Type: string(e.Type), Account: e.Account, CreatedAt: time.Unix(e.Created, 0).UTC()}
	if e.Data == nil {
		return told, nil
	}
	return told.about(e.Data.Raw)
}

// about adds what the event says of a movement, if it is about one.
func (e WebhookEvent) about(raw json.RawMessage) (WebhookEvent, error) {
	var kind struct {
		Object string `json:"object"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return WebhookEvent{}, ErrWebhookFormat
	}
	declared := capabilities(Options{})
	var m provider.Movement
	switch kind.Object {
	case objectIntent:
		var intent stripe.PaymentIntent
		if err := json.Unmarshal(raw, &intent); err != nil {
			return WebhookEvent{}, ErrWebhookFormat
		}
		m = listedIntent(declared, &intent)
		_, e.Reason = verdictOf(&intent)
	case objectRefund:
		var refund stripe.Refund
		if err := json.Unmarshal(raw, &refund); err != nil {
			return WebhookEvent{}, ErrWebhookFormat
		}
		m = listedRefund(declared, &refund)
		_, e.Reason = verdictOfRefund(&refund)
	default:
		return e, nil
	}
	e.Reference, e.ObjectID, e.Kind, e.Verdict, e.Amount = m.Reference, m.ObjectID, m.Kind, m.Verdict, m.Amount
	return e, nil
}
