package provider

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// WebhookTolerance bounds how far a webhook's signed time may be from ours, either
// way: an older one may be a recording. Five minutes is what Stripe and Standard
// Webhooks use.
const WebhookTolerance = 5 * time.Minute

// Why a webhook is not taken, or not understood.
var (
	ErrWebhookSignature = errors.New("the webhook's signature is missing, or is of none of the secrets")
	ErrWebhookTime      = errors.New("the webhook's signed time is too far from now")
	ErrWebhookFormat    = errors.New("the webhook's body is not in the provider's format")
)

// Webhook is a request of a provider as it came.
type Webhook struct {
	Header http.Header
	Body   []byte
}

// SignedEvent is what is known of a webhook once its signature has been checked.
type SignedEvent struct {
	// ID is the provider's, the same for each delivery of the event. It is empty, as
	// Type is, where it stands in a body that cannot be read.
	ID, Type string
	// Says is Notice.Digest of the body, nil where it cannot be read.
	Says []byte
	// Headers are those that the signature stands in and is over. With the body they
	// let anybody who has the secret check it again.
	Headers map[string]string
}

// Notice is what the body of a webhook says. It is news about a moment that may be
// long past: events come late, twice and in any order.
type Notice struct {
	// Account is the provider's own name of the account, where the event names one.
	Account string
	// Mode is which of the account's books the event is of, where the provider keeps
	// several (see InMode).
	Mode string
	// Kind is empty for events that are about no movement; then nothing below is set but
	// the time.
	Kind payment.Kind
	// Reference is ours, empty for what we did not make.
	Reference  string
	ObjectID   string
	Verdict    payment.Verdict
	Amount     money.Amount // zero when the event says none
	Reason     string
	OccurredAt time.Time // the provider's clock
}

// IsOf reports whether the event is of the account that a recipe names. A provider
// may tell one customer of the events of others, who can write our references into
// theirs, and of test payments beside those with money.
func (n Notice) IsOf(recipe string) bool {
	whole := AccountOf(recipe)
	account, mode, _ := strings.Cut(whole, modeMark)
	switch {
	case whole == "":
		return true
	case n.Mode != "" && n.Mode != mode:
		return false
	}
	return n.Account == "" || n.Account == account || n.Account == whole
}

// Digest is the same for two bodies that say the same of the same movement. A provider
// may write one event differently for each of our endpoints.
func (n Notice) Digest() []byte {
	digest := sha256.New()
	amount := ""
	if !n.Amount.IsZero() {
		amount = n.Amount.String()
	}
	for _, said := range []string{n.Account, n.Mode, string(n.Kind), n.Reference, n.ObjectID, n.Verdict.String(), amount} {
		_, _ = fmt.Fprintf(digest, "%q;", said)
	}
	return digest.Sum(nil)
}

// Notifier is a connector whose provider sends webhooks. Its methods call nobody,
// so they also work without credentials.
type Notifier interface {
	// CheckSecret returns what is wrong with the form of a secret, or nil. The error
	// does not hold it.
	CheckSecret(secret string) error
	// Verify checks the signature over the raw body with each of the secrets, of which
	// there are two while one is being replaced, in constant time, and then the signed
	// time. Errors: ErrWebhookSignature, ErrWebhookTime.
	Verify(w Webhook, secrets []string, now time.Time) (SignedEvent, error)
	// ReadNotice reads a body whose signature has been checked. Error:
	// ErrWebhookFormat.
	ReadNotice(body []byte) (Notice, error)
}
