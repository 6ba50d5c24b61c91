// Package provider is the port to whoever moves the money.
//
//	worker ──Send──> Connector ──one request──> provider
//	reconciler ──Inquire, CloseDoor──> Connector
//
// One Send is at most one money-moving request on the wire, and its Answer says
// only what was proven: "not sent" comes from our own record of that one request,
// an outcome from the provider's own words about this operation, and everything
// else is unclear. What to do about an unclear operation is derived from what the
// provider declares about itself (Capabilities, Next).
//
// The package holds the port, the wire rules and the derivation. It knows no
// database and no particular provider.
package provider

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Operation is one money movement as a provider is asked for it. A resend carries
// the same values, so that the same bytes leave.
type Operation struct {
	// ID names the movement and is the provider's idempotency key.
	ID   uuid.UUID
	Kind payment.Kind
	// Reference is what the provider stores and finds the movement by.
	Reference string
	Amount    money.Amount
	// PaymentMethod and Customer are the provider's own tokens. They never
	// appear in an error or a log line.
	PaymentMethod string
	Customer      string
	// ObjectID is the provider's id of what the request acts on: the charge of a
	// refund or void, and the prepared object of a charge (see Preparer).
	ObjectID string
}

// NewOperation names a movement to its provider. The reference is the id as text, in
// every question and request: the provider finds it by nothing else. An object of nil
// is not known yet. What only a first request needs, the caller adds.
func NewOperation(id uuid.UUID, kind payment.Kind, amount money.Amount, object *string) Operation {
	o := Operation{ID: id, Kind: kind, Reference: id.String(), Amount: amount}
	if object != nil {
		o.ObjectID = *object
	}
	return o
}

// Valid returns what keeps the operation from being put into a request, or nil.
func (o Operation) Valid() error {
	switch {
	case o.ID == uuid.Nil:
		return errors.New("the operation has no id")
	case o.Reference == "":
		return errors.New("the operation has no reference")
	case o.Amount.IsZero() || o.Amount.Minor() <= 0:
		return errors.New("the operation has no amount above zero")
	}
	switch o.Kind {
	case payment.KindCharge:
		return nil
	case payment.KindRefund, payment.KindVoid:
		if o.ObjectID == "" {
			return fmt.Errorf("a %s needs the provider's id of its charge", o.Kind)
		}
		return nil
	}
	return fmt.Errorf("%q is no kind of operation", o.Kind)
}

// Answer is what one call to a provider proved. The zero Answer proves nothing.
// It speaks for its own attempt only.
type Answer struct {
	Verdict payment.Verdict
	// NotSent means that no byte of the request was handed to the kernel and
	// none will be. It comes from the Permit, never from an error's text.
	NotSent bool
	// Amount is what the provider said it moved; zero when it did not say.
	Amount money.Amount
	// ObjectID is the provider's id of the movement.
	ObjectID string
	// Others are further movements under the same reference that took place, or did and
	// were undone (declined), where the provider holds more than one. Each has an id and
	// an amount.
	Others []Movement
	// Status is the HTTP status, 0 without a complete answer.
	Status int
	// RetryAfter is the provider's hint, 0 without one.
	RetryAfter time.Duration
	// Reason is a stable short code, one of the Reason constants or the
	// provider's own decline code.
	Reason string
	// Hash is the SHA-256 of the raw answer, nil without a complete one.
	Hash []byte
	// Err is for logs. It says nothing that Verdict and NotSent do not.
	Err error
}

// Digest returns Hash, or the hash of nothing when no complete answer was read.
func (a Answer) Digest() [sha256.Size]byte {
	if len(a.Hash) == sha256.Size {
		return [sha256.Size]byte(a.Hash)
	}
	return sha256.Sum256(nil)
}

// Names reports whether the answer speaks of the movement: as its own, or beside it.
func (a Answer) Names(objectID string) bool {
	return a.ObjectID == objectID || slices.ContainsFunc(a.Others, func(m Movement) bool { return m.ObjectID == objectID })
}

// The reasons that answers carry. Evidence stores them, so they do not change.
const (
	ReasonNotSent           = "not-sent"           // our own record: no byte left
	ReasonNoAnswer          = "no-answer"          // sent, and the answer was cut, late or broken
	ReasonForeignAnswer     = "foreign-answer"     // complete, and not in the provider's own format
	ReasonServerError       = "server-error"       // the provider's own 5xx
	ReasonTryLater          = "try-later"          // declared by the provider to mean "not taken"
	ReasonKeyMismatch       = "key-mismatch"       // the key was used with another body: a fault of ours, not a decline
	ReasonEchoMismatch      = "echo-mismatch"      // amount or currency differ from ours
	ReasonReferenceMismatch = "reference-mismatch" // an answer about something else
	ReasonSeveralCharges    = "several-charges"    // the provider holds more than one for our reference
	ReasonNotFound          = "not-found"          // the inquiry found nothing
	ReasonVoided            = "voided"             // it was taken and has been undone
	ReasonDoorClosed        = "door-closed"        // nothing is held and nothing can follow
	ReasonUnsupported       = "unsupported"        // the provider cannot do this; nothing was sent
	ReasonInvalidOperation  = "invalid-operation"  // ours to repair; nothing was sent
	ReasonNotPrepared       = "not-prepared"       // the provider has no object of it yet, so no money-moving request was made
	ReasonNotConfirmed      = "not-confirmed"      // the provider has its object, and was never asked to move money for it
	ReasonKeyInUse          = "key-in-use"         // a request with the same key is being worked on
	ReasonCredentials       = "credentials"        // the provider refuses our key: someone has to correct it
	ReasonOtherAccount      = "other-account"      // these credentials open another account than the one it was sent to
)

// Connector speaks to one account at one provider. Its methods may be called
// concurrently. They return when the context or the connector's own time limit
// ends, and never panic on what a provider answers.
type Connector interface {
	// Name is the connector's name as the configuration writes it.
	Name() string
	// Capabilities is what the provider declares. It does not change.
	Capabilities() Capabilities
	// Identify asks the provider which account the credentials open, until it has
	// said so once. It moves nothing.
	Identify(ctx context.Context) error
	// Recipe names, with a version and the account, how the request's bytes follow
	// from the operation. It changes whenever the bytes would: a resend must be
	// byte-identical, so one that would be made by another recipe is not made. It is
	// empty until Identify has succeeded, and until then nothing may be claimed.
	Recipe() string
	// Send makes exactly one money-moving request, or none once stop has
	// passed. It never repeats one, whatever happens to it.
	Send(ctx context.Context, op Operation, stop StopDeadline) Answer
	// Inquire asks by our reference and moves nothing. VerdictNotTaken means
	// that the provider answered "not found"; whether that counts is for Next.
	Inquire(ctx context.Context, op Operation) Answer
	// CloseDoor voids by our reference, seen by the provider or not.
	// VerdictNotTaken means that no money is held and none can follow;
	// VerdictCaptured means that it is too late.
	CloseDoor(ctx context.Context, op Operation) Answer
}

// Preparer is a connector whose charges need an object at the provider first, such
// as a PaymentIntent. The object's id is committed under the attempt's fence before
// Send is called with it as the operation's ObjectID. So whoever finds no id knows
// that no money-moving request was ever made, and whoever finds one asks and acts
// on that very object.
type Preparer interface {
	// Prepare makes the object of a charge and moves nothing. It may be repeated:
	// its key differs from the charge's, and an object whose id was lost is never
	// acted on. Without an id the Answer says why, and always speaks of an attempt
	// whose money-moving request was not made.
	Prepare(ctx context.Context, op Operation, stop StopDeadline) (objectID string, refused Answer)
}
