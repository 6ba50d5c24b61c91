package simulated

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// The headers of Standard Webhooks
// (https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md).
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// secretPrefix begins a secret, whose rest is the key in base64.
const secretPrefix = "whsec_"

// The specification's bounds of a key, in bytes.
const (
	keyBytesMin = 24
	keyBytesMax = 64
)

// CheckSecret implements provider.Notifier.
func (c *Connector) CheckSecret(secret string) error {
	if key := keyOf(secret); len(key) < keyBytesMin || len(key) > keyBytesMax {
		return errors.New("a webhook secret is whsec_ and 24 to 64 bytes in base64")
	}
	return nil
}

func keyOf(secret string) []byte {
	text, ok := strings.CutPrefix(secret, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil
	}
	return key
}

// Verify implements provider.Notifier. A header that came twice is refused: nobody
// knows which one was signed.
func (c *Connector) Verify(w provider.Webhook, secrets []string, now time.Time) (provider.SignedEvent, error) {
	headers := map[string]string{}
	for _, name := range []string{headerID, headerTimestamp, headerSignature} {
		lines := w.Header.Values(name)
		if len(lines) != 1 || lines[0] == "" {
			return provider.SignedEvent{}, provider.ErrWebhookSignature
		}
		headers[strings.ToLower(name)] = lines[0]
	}
	id, timestamp, signatures := w.Header.Get(headerID), w.Header.Get(headerTimestamp), w.Header.Get(headerSignature)
	signed := slices.Concat([]byte(id+"."+timestamp+"."), w.Body)
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if !signedByAny(signed, signatures, secrets) || err != nil {
		return provider.SignedEvent{}, provider.ErrWebhookSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > provider.WebhookTolerance || age < -provider.WebhookTolerance {
		return provider.SignedEvent{}, provider.ErrWebhookTime
	}
	var e event
	_ = json.Unmarshal(w.Body, &e) // ReadNotice says what is wrong with it
	told := provider.SignedEvent{ID: id, Type: e.Type, Headers: headers}
	if notice, err := c.ReadNotice(w.Body); err == nil {
		told.Says = notice.Digest()
	}
	return told, nil
}

// signedByAny compares each signature with that of each secret, and stops at none,
// so that its time tells nothing about them.
func signedByAny(signed []byte, signatures string, secrets []string) bool {
	valid := false
	for _, secret := range secrets {
		key := keyOf(secret)
		if len(key) < keyBytesMin {
			continue
		}
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write(signed)
		wanted := mac.Sum(nil)
		for signature := range strings.FieldsSeq(signatures) {
			text, version1 := strings.CutPrefix(signature, "v1,")
			given, err := base64.StdEncoding.DecodeString(text)
			valid = (version1 && err == nil && hmac.Equal(given, wanted)) || valid
		}
	}
	return valid
}

// event is the provider's webhook.
type event struct {
	Type      string          `json:"type"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data"`
}

// ReadNotice implements provider.Notifier.
func (c *Connector) ReadNotice(body []byte) (provider.Notice, error) {
	var e event
	if !decode(body, &e) || e.Type == "" {
		return provider.Notice{}, provider.ErrWebhookFormat
	}
	kind, status, _ := strings.Cut(e.Type, ".")
	if !slices.Contains([]payment.Kind{payment.KindCharge, payment.KindRefund, payment.KindVoid}, payment.Kind(kind)) ||
		!slices.Contains([]string{statusCaptured, statusPending, statusDeclined, statusVoided}, status) {
		return provider.Notice{OccurredAt: e.Timestamp}, nil
	}
	var l listed
	if !decode(e.Data, &l) || !l.whole() || l.Status != status || string(l.Kind) != kind {
		return provider.Notice{}, provider.ErrWebhookFormat
	}
	m := c.listed(l)
	return provider.Notice{
		Kind: m.Kind, Reference: m.Reference, ObjectID: m.ObjectID, Verdict: m.Verdict, Amount: m.Amount,
		Reason: l.Reason, OccurredAt: e.Timestamp,
	}, nil
}

var _ provider.Notifier = (*Connector)(nil)
