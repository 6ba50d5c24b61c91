package event

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// The types of the Kafka door. A merchant sends SubmitPayment; each command is
// answered with one of the others.
const (
	SubmitPayment   Type = "payonce.SubmitPayment.v1"
	PaymentAccepted Type = "payonce.PaymentAccepted.v1"
	PaymentRejected Type = "payonce.PaymentRejected.v1"
)

// Types lists all types of this version: the events, the command and its answers.
func Types() []Type {
	return []Type{
		PaymentRequested, PaymentPending, PaymentCaptured, PaymentFailed, PaymentUnknown, PaymentCanceled,
		RefundRequested, RefundCompleted, RefundFailed,
		SubmitPayment, PaymentAccepted, PaymentRejected,
	}
}

// Accepted is the data of PaymentAccepted. The data of PaymentRejected is the problem
// document of the HTTP API (RFC 9457).
type Accepted struct {
	// Payment is a payment.View as it was answered: for one that is final, the very
	// bytes that every repeat gets.
	Payment json.RawMessage `json:"payment"`
	// Replayed says that the key stood for this very command before.
	Replayed bool `json:"replayed"`
}

// DoorTopics are the two topics of one merchant at the Kafka door.
type DoorTopics struct{ Commands, Replies string }

// DoorTopicsOf returns PREFIX.intake.MERCHANT and PREFIX.intake-replies.MERCHANT.
func DoorTopicsOf(prefix string, merchant uuid.UUID) DoorTopics {
	return DoorTopics{Commands: commands(prefix) + merchant.String(), Replies: prefix + ".intake-replies." + merchant.String()}
}

// All lists the topics.
func (t DoorTopics) All() []string { return []string{t.Commands, t.Replies} }

// DoorPattern is a regular expression for the names of all merchants' command topics.
func DoorPattern(prefix string) string {
	return "^" + regexp.QuoteMeta(commands(prefix)) + "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
}

// DoorMerchant returns the merchant whose command topic this is. The topic is all
// that says so: who may write to it is guarded by the brokers.
func DoorMerchant(prefix, topic string) (uuid.UUID, error) {
	text, ours := strings.CutPrefix(topic, commands(prefix))
	id, err := uuid.Parse(text)
	if !ours || err != nil || id.String() != text {
		return uuid.UUID{}, fmt.Errorf("%q is no merchant's command topic", topic)
	}
	return id, nil
}

func commands(prefix string) string { return prefix + ".intake." }
