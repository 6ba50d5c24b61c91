package stripe

import (
	"cmp"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/stripe/stripe-go/v85"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/pkg/payment"
)

// failed reports whether the reply is anything but Stripe's object with status 200.
func (c *call) failed() bool { return c.err != nil || c.reply.Status != http.StatusOK }

// problem returns Stripe's own error, or nil: a gateway's page, or JSON of someone
// else, has no type that Stripe knows.
func (c *call) problem() *stripe.Error {
	told, ok := errors.AsType[*stripe.Error](c.err)
	if c.reply.Status < http.StatusBadRequest || !ok {
		return nil
	}
	switch told.Type {
	case stripe.ErrorTypeAPI, stripe.ErrorTypeCard, stripe.ErrorTypeIdempotency, stripe.ErrorTypeInvalidRequest, stripe.ErrorTypeRateLimit:
		return told
	case stripe.ErrorTypeTemporarySessionExpired:
	}
	return nil
}

// spoiledItsKey reports whether Stripe would say the same under this key for a day,
// and may say something else under another one.
func (c *call) spoiledItsKey() bool {
	told := c.problem()
	return told != nil && (told.Type == stripe.ErrorTypeIdempotency || c.reply.Status >= http.StatusInternalServerError)
}

// foreign is the answer to a reply that is not in Stripe's format.
func (c *call) foreign() provider.Answer {
	answer := c.reply.Answer(provider.ReasonForeignAnswer)
	answer.Err = plain(c.err)
	return answer
}

// sortRefusal reads Stripe's error about a request that moves money. What it says is
// believed only through the PaymentIntent that it carries: a declined card is a
// decline once our PaymentIntent is back to wanting a payment method. Nothing else
// but a rate limit is an outcome; the rest is for the inquiry to find out.
func (c *Connector) sortRefusal(op provider.Operation, said *call) provider.Answer {
	told := said.problem()
	if told == nil {
		return said.foreign()
	}
	if op.Kind != payment.KindRefund && told.PaymentIntent != nil && speaksOfTheIntent(told) {
		return c.sortIntent(op, told.PaymentIntent, said.reply)
	}
	answer := said.reply.Answer(reasonOf(told, said.reply.Status))
	answer.Err = plain(told)
	switch {
	case isRateLimit(told, said.reply.Status):
		return said.reply.TryLater(c.capabilities, true)
	case op.Kind == payment.KindRefund && refusesRefund(told):
		answer.Verdict, answer.Reason = payment.VerdictDeclined, cmp.Or(string(told.Code), provider.ReasonInvalidOperation)
	}
	return answer
}

// speaksOfTheIntent reports whether the PaymentIntent that an error carries is as
// Stripe has it after the request: a declined card, or a state that the request did
// not fit.
func speaksOfTheIntent(told *stripe.Error) bool {
	return told.Type == stripe.ErrorTypeCard || told.Type == stripe.ErrorTypeInvalidRequest
}

// reasonOf names what an error means to us where it is no outcome.
func reasonOf(told *stripe.Error, status int) string {
	switch {
	case told.Type == stripe.ErrorTypeIdempotency:
		return provider.ReasonKeyMismatch
	case told.Code == stripe.ErrorCodeIdempotencyKeyInUse, status == http.StatusConflict:
		return provider.ReasonKeyInUse
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.ReasonCredentials
	case status == http.StatusNotFound:
		return provider.ReasonOtherAccount // an id that Stripe gave us does not vanish
	case status >= http.StatusInternalServerError:
		return provider.ReasonServerError
	}
	return cmp.Or(string(told.Code), string(told.Type))
}

// isRateLimit leaves out lock_timeout, which has the same status: the request met
// another one at work on the same object, perhaps an earlier one of ours.
func isRateLimit(told *stripe.Error, status int) bool {
	return status == http.StatusTooManyRequests && (told.Code == stripe.ErrorCodeRateLimit || told.Type == stripe.ErrorTypeRateLimit)
}

// refusesRefund reports whether the charge cannot give the money back: it has been
// refunded already, or holds less (an error about the amount, without a code).
func refusesRefund(told *stripe.Error) bool {
	return told.Type == stripe.ErrorTypeInvalidRequest && (told.Code == stripe.ErrorCodeChargeAlreadyRefunded || told.Param == "amount")
}

// sortPrepared returns the id of a fresh PaymentIntent of exactly this operation.
func (c *Connector) sortPrepared(op provider.Operation, intent *stripe.PaymentIntent, said *call) (string, provider.Answer) {
	if said.failed() {
		return "", c.sortUnprepared(said)
	}
	switch {
	case intent.Object != objectIntent || intent.ID == "":
		return "", provider.Refused(provider.ReasonForeignAnswer, errors.New("the answer is no PaymentIntent"))
	case intent.Metadata[referenceKey] != op.Reference:
		return "", provider.Refused(provider.ReasonReferenceMismatch, errors.New("the PaymentIntent is of another operation"))
	case c.amount(intent.Amount, intent.Currency) != op.Amount:
		return "", provider.Refused(provider.ReasonEchoMismatch, errors.New("the PaymentIntent is for another amount"))
	}
	return intent.ID, provider.Answer{}
}

// sortUnprepared reads why there is no PaymentIntent. What Stripe refuses because of
// the operation itself is final, what it would refuse each time is for a person, and
// everything else is tried again.
func (c *Connector) sortUnprepared(said *call) provider.Answer {
	told := said.problem()
	if told == nil {
		return provider.Refused(provider.ReasonNotPrepared, plain(said.err))
	}
	if isRateLimit(told, said.reply.Status) {
		later := said.reply.TryLater(c.capabilities, true)
		refused := provider.Refused(later.Reason, plain(told))
		refused.RetryAfter = later.RetryAfter
		return refused
	}
	if refusesCharge(told) {
		answer := said.reply.Answer(cmp.Or(string(told.DeclineCode), string(told.Code)))
		answer.Verdict = payment.VerdictDeclined
		return answer
	}
	if refusesForGood(told, said.reply.Status) {
		return provider.Refused(provider.ReasonInvalidOperation, plain(told))
	}
	return provider.Refused(reasonOf(told, said.reply.Status), plain(told))
}

// refusesCharge reports whether Stripe refused what the customer or the merchant
// gave: a token that it does not know, an amount outside its limits. A fault of our
// own request is not among these.
func refusesCharge(told *stripe.Error) bool {
	if told.Type == stripe.ErrorTypeCard {
		return true
	}
	if told.Type != stripe.ErrorTypeInvalidRequest {
		return false
	}
	switch told.Code {
	case stripe.ErrorCodeAmountTooSmall, stripe.ErrorCodeAmountTooLarge:
		return true
	case stripe.ErrorCodeResourceMissing:
		return told.Param == "payment_method" || told.Param == "customer"
	default:
		return false
	}
}

// refusesForGood reports whether the same request would be refused again: its
// parameters, or what the account may do, have to change first
// (https://docs.stripe.com/error-low-level). Keys and locks in use, limits and
// credentials have other statuses.
func refusesForGood(told *stripe.Error, status int) bool {
	return told.Type == stripe.ErrorTypeInvalidRequest && (status == http.StatusBadRequest || status == http.StatusNotFound)
}

// The kinds of Stripe's objects that are read.
const (
	objectIntent = "payment_intent"
	objectRefund = "refund"
	objectList   = "list"
)

// sortIntent reads the state of our PaymentIntent
// (https://docs.stripe.com/payments/paymentintents/lifecycle).
func (c *Connector) sortIntent(op provider.Operation, intent *stripe.PaymentIntent, reply provider.Reply) provider.Answer {
	if intent.Object != objectIntent || intent.ID == "" {
		return reply.Answer(provider.ReasonForeignAnswer)
	}
	// A void acts on a charge that has another reference than its own.
	if intent.ID != op.ObjectID || (op.Kind == payment.KindCharge && intent.Metadata[referenceKey] != op.Reference) {
		return reply.Answer(provider.ReasonReferenceMismatch)
	}
	answer := reply.Answer("")
	answer.ObjectID, answer.Amount = intent.ID, c.amount(intent.Amount, intent.Currency)
	if op.Kind == payment.KindVoid {
		return provider.CheckEcho(op, sortVoid(intent, answer))
	}
	answer.Verdict, answer.Reason = verdictOf(intent)
	if answer.Verdict == payment.VerdictCaptured {
		answer.Amount = c.amount(intent.AmountReceived, intent.Currency)
	}
	return provider.CheckEcho(op, answer)
}

// verdictOf is what the state of a PaymentIntent says about its charge. One that was
// never confirmed proves nothing by itself: a confirm may be under way.
func verdictOf(intent *stripe.PaymentIntent) (verdict payment.Verdict, reason string) {
	switch intent.Status {
	case stripe.PaymentIntentStatusSucceeded:
		return payment.VerdictCaptured, ""
	case stripe.PaymentIntentStatusProcessing, stripe.PaymentIntentStatusRequiresAction, stripe.PaymentIntentStatusRequiresCapture:
		return payment.VerdictPending, string(intent.Status)
	case stripe.PaymentIntentStatusRequiresPaymentMethod:
		// A failed payment comes back to this state with its error. Without one it was
		// never tried: a payment method was missing, or went away.
		switch {
		case intent.LastPaymentError != nil:
			return payment.VerdictDeclined, declineCode(intent.LastPaymentError)
		case intent.AmountReceived == 0:
			return payment.VerdictUnclear, provider.ReasonNotConfirmed
		}
	case stripe.PaymentIntentStatusRequiresConfirmation:
		return payment.VerdictUnclear, provider.ReasonNotConfirmed
	case stripe.PaymentIntentStatusCanceled:
		if intent.AmountReceived == 0 {
			return payment.VerdictDeclined, provider.ReasonVoided
		}
	}
	return payment.VerdictUnclear, provider.ReasonForeignAnswer
}

func declineCode(told *stripe.Error) string {
	return cmp.Or(string(told.DeclineCode), string(told.Code), string(told.Type))
}

// sortVoid reads the same states about a void. Money that has been received cannot
// be voided any more, only refunded.
func sortVoid(intent *stripe.PaymentIntent, answer provider.Answer) provider.Answer {
	switch intent.Status {
	case stripe.PaymentIntentStatusCanceled:
		answer.Verdict = payment.VerdictCaptured
	case stripe.PaymentIntentStatusSucceeded:
		answer.Verdict, answer.Reason = payment.VerdictDeclined, string(stripe.ErrorCodePaymentIntentUnexpectedState)
	default:
		answer.Reason = string(intent.Status)
	}
	return answer
}

// sortRefund reads one refund.
func (c *Connector) sortRefund(op provider.Operation, refund *stripe.Refund, reply provider.Reply) provider.Answer {
	switch {
	case refund.Object != objectRefund || refund.ID == "":
		return reply.Answer(provider.ReasonForeignAnswer)
	case refund.Metadata[referenceKey] != op.Reference, refund.PaymentIntent == nil || refund.PaymentIntent.ID != op.ObjectID:
		return reply.Answer(provider.ReasonReferenceMismatch)
	}
	answer := reply.Answer("")
	answer.ObjectID, answer.Amount = refund.ID, c.amount(refund.Amount, refund.Currency)
	answer.Verdict, answer.Reason = verdictOfRefund(refund)
	return provider.CheckEcho(op, answer)
}

func verdictOfRefund(refund *stripe.Refund) (verdict payment.Verdict, reason string) {
	switch refund.Status {
	case stripe.RefundStatusSucceeded:
		return payment.VerdictCaptured, ""
	case stripe.RefundStatusPending, stripe.RefundStatusRequiresAction:
		return payment.VerdictPending, string(refund.Status)
	case stripe.RefundStatusFailed, stripe.RefundStatusCanceled:
		return payment.VerdictDeclined, cmp.Or(string(refund.FailureReason), string(refund.Status))
	}
	return payment.VerdictUnclear, provider.ReasonForeignAnswer
}

// isList reports whether a reply is Stripe's list: any other JSON object has no
// entries either, and would look like an empty one.
func isList(reply provider.Reply) bool {
	var l struct {
		Object string             `json:"object"`
		Data   *[]json.RawMessage `json:"data"`
	}
	return reply.Status == http.StatusOK && json.Unmarshal(reply.Body, &l) == nil && l.Object == objectList && l.Data != nil
}
