package problem

import (
	"errors"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/postgres"
)

// sameAgain is for failures after which the client does not know what happened.
const sameAgain = "Send the same request with the same key again: it is not done twice."

// Explain makes a failure of any error of the database or of accept.
func Explain(err error) *Error {
	var known *Error
	var broken *accept.InvalidError
	var unreadable *accept.MalformedError
	var barrier *accept.BarrierError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &broken):
		return invalid(broken)
	case errors.As(err, &barrier):
		return barred(barrier)
	case errors.As(err, &unreadable):
		return MalformedBody.Failure(unreadable.Detail)
	case errors.Is(err, accept.ErrBusy):
		return RequestInProgress.Failure("Another request holds this key, this invoice or this reference. Send this one again.").Because(err)
	case errors.Is(err, accept.ErrNoTurn):
		return Overloaded.Failure("Other cancels and refunds are being worked on, of this payment, of yours or of all. Send this one again.").Because(err)
	case errors.Is(err, accept.ErrUnavailable) || postgres.IsUnanswered(err):
		return ServiceUnavailable.Failure(sameAgain).Because(err)
	default:
		return InternalError.Failure(sameAgain).Because(err)
	}
}

// Refusal explains why a request stored nothing. The result is neither accepted nor
// replayed.
func Refusal(result accept.Result) error {
	switch result.Outcome {
	case accept.OutcomeMismatched:
		return keyReused(result.Differing)
	case accept.OutcomeConflicting:
		return conflict(result)
	case accept.OutcomeExpired:
		return expired(result)
	case accept.OutcomeRefused:
		return invalid(result.Refusal)
	default:
		return errors.New("a request was neither accepted nor refused")
	}
}

// conflict tells what the payment that stands in the way has come to. A second click
// while the first one is being worked on must not read as a payment that failed.
func conflict(result accept.Result) *Error {
	kind, held := InvoiceHasPayment, "invoice"
	if result.Holds == accept.FieldExternalReference {
		kind, held = ReferenceIsInUse, "reference"
	}
	detail := "The payment with this " + held + " was captured, and stands in payment. It is not paid a second time."
	if !result.Payment.State.Final() {
		detail = "The payment with this " + held + " is being worked on, and stands in payment as it is now. " +
			"Ask for it again; do not pay in another way meanwhile."
	}
	f := kind.Failure(detail)
	f.Payment = &result.Payment
	return f
}

func invalid(broken *accept.InvalidError) *Error {
	kind := InvalidRequest
	if broken.CardData {
		kind = CardDataRefused
	}
	f := kind.Failure(broken.Error() + ".")
	f.Errors = broken.Fields
	return f
}

func keyReused(differing []string) *Error {
	f := KeyReused.Failure("The first request with this key had other values in the fields that are named. It is untouched.")
	f.DifferingFields = differing
	return f
}

// expired shows besides what holds the invoice: it may be what became of the request.
func expired(result accept.Result) *Error {
	f := keyExpired("/v1/payments?invoiceId=…")
	f.Payment = result.Holder()
	return f
}

func keyExpired(where string) *Error {
	return KeyExpired.Failure("The key, or the command that came with it, says when it was made. That is so long ago that an answer to it may be stored no " +
		"more. Ask GET " + where + " what became of the request. If it has to be made, send it with a new key, and look at the clock that " +
		"makes keys.")
}
