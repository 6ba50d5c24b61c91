package stripe_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/stripe"
	"github.com/payonce/payonce/internal/testkit/fakestripe"
	"github.com/payonce/payonce/pkg/payment"
)

func TestP1_AnyNumberOfConfirmsOfOneOperationIsOneCharge(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	require.Equal(t, payment.VerdictCaptured, b.send(op).Verdict)
	again := b.send(op)
	require.Equal(t, payment.VerdictCaptured, again.Verdict, "the key's first answer: %+v", again)
	b.stripe.ForgetKeys()
	after := b.send(op)
	require.Equal(t, payment.VerdictCaptured, after.Verdict, "the object's state outlives the key: %+v", after)
	require.Equal(t, 1, b.stripe.Charged(op.Reference))
	require.Equal(t, op.Amount, after.Amount)
	require.Equal(t, op.ObjectID, after.ObjectID)
}

func TestPreparingAgainIsTheSameObject(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	id, _ := b.connector.Prepare(t.Context(), op, within(time.Minute))
	require.Equal(t, op.ObjectID, id)
	require.Zero(t, b.stripe.Charged(op.Reference))
	b.stripe.ForgetKeys()
	other, _ := b.connector.Prepare(t.Context(), op, within(time.Minute))
	require.NotEqual(t, op.ObjectID, other, "after a day it is another one, and only a stored one is confirmed")
}

func TestT6_EachEndOfAConfirmIsFoundByInquiry(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		becomes string
		verdict payment.Verdict
		reason  string
	}{
		{"succeeded", payment.VerdictCaptured, ""},
		{"processing", payment.VerdictPending, "processing"},
		{"requires_action", payment.VerdictPending, "requires_action"},
		{"requires_capture", payment.VerdictPending, "requires_capture"},
		{"requires_payment_method", payment.VerdictDeclined, "insufficient_funds"},
		{"canceled", payment.VerdictDeclined, provider.ReasonVoided},
		{"a_state_of_the_future", payment.VerdictUnclear, provider.ReasonForeignAnswer},
	} {
		t.Run(c.becomes, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			op := b.prepared()
			b.stripe.Script(fakestripe.Confirm, fakestripe.Step{Becomes: c.becomes, CutAfter: true})
			cut := b.send(op)
			require.Equal(t, payment.VerdictUnclear, cut.Verdict)
			require.False(t, cut.NotSent)
			found := b.inquire(op)
			require.Equal(t, c.verdict, found.Verdict, "%+v", found)
			require.Equal(t, c.reason, found.Reason)
			told := b.send(op)
			require.Equal(t, c.verdict, told.Verdict, "the key's answer says the same: %+v", told)
		})
	}
}

func TestU4_NotTakenIsTheWordOfOurOwnObject(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	answer := b.inquire(op)
	require.Equal(t, payment.VerdictNotTaken, answer.Verdict)
	require.Equal(t, provider.ReasonNotConfirmed, answer.Reason)

	unprepared := charge(t, "10.00", "TRY")
	require.Equal(t, provider.ReasonNotPrepared, b.inquire(unprepared).Reason)
	require.Equal(t, payment.VerdictNotTaken, b.inquire(unprepared).Verdict)
	require.Equal(t, 1, b.stripe.Arrived(fakestripe.Retrieve), "nobody has to be asked")

	op.ObjectID = "pi_of_another_account"
	stranger := b.inquire(op)
	require.Equal(t, payment.VerdictUnclear, stranger.Verdict, "an id that Stripe does not know proves nothing")
	require.Equal(t, provider.ReasonOtherAccount, stranger.Reason)
}

// Nothing that was ever sent can be taken from a PaymentIntent without a payment
// method, so it is "not taken", and the payment ends instead of staying unknown.
func TestU4_APaymentIntentWithoutAMethodIsNotTaken(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	b.stripe.Settle(op.Reference, fakestripe.Methodless)
	refused := b.send(op)
	require.Equal(t, payment.VerdictUnclear, refused.Verdict, "an answer is no proof: %+v", refused)
	found := b.inquire(op)
	require.Equal(t, payment.VerdictNotTaken, found.Verdict, "%+v", found)
	require.Equal(t, provider.ReasonNotConfirmed, found.Reason)
	require.Equal(t, payment.VerdictNotTaken, b.closeDoor(op).Verdict)

	received := operation(t, payment.KindCharge, "10.00", "TRY", "pi_1")
	strange := says(t, 200, fmt.Sprintf(`{"id":"pi_1","object":"payment_intent","status":"requires_payment_method","amount":1000,`+
		`"amount_received":5,"currency":"try","metadata":{"operation_id":%q}}`, received.Reference))
	require.Equal(t, payment.VerdictUnclear, strange.Inquire(t.Context(), received).Verdict, "money that is held")
}

func TestAChargeWithoutAMethodIsNotPrepared(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := charge(t, "10.00", "TRY")
	op.PaymentMethod = ""
	id, answer := b.connector.Prepare(t.Context(), op, within(time.Minute))
	require.Empty(t, id)
	require.Equal(t, provider.ReasonInvalidOperation, answer.Reason)
	require.Zero(t, b.stripe.Arrived(fakestripe.Create))
}

func TestU4_CancelingClosesTheDoor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		becomes string
		verdict payment.Verdict
		reason  string
	}{
		{"", payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{"requires_payment_method", payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{"requires_action", payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{"canceled", payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{"succeeded", payment.VerdictCaptured, ""},
		{"processing", payment.VerdictUnclear, "processing"},
	} {
		t.Run(c.becomes, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			op := b.prepared()
			if c.becomes != "" {
				b.stripe.Settle(op.Reference, c.becomes)
			}
			answer := b.closeDoor(op)
			require.Equal(t, c.verdict, answer.Verdict, "%+v", answer)
			require.Equal(t, c.reason, answer.Reason)
			if c.verdict == payment.VerdictNotTaken {
				late := b.send(op)
				require.Equal(t, payment.VerdictDeclined, late.Verdict, "%+v", late)
				require.Zero(t, b.stripe.Charged(op.Reference))
			}
		})
	}
}

func TestADoorThatCouldNotBeClosedIsTriedAnewAndNotReplayed(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	b.stripe.Settle(op.Reference, "processing")
	require.Equal(t, payment.VerdictUnclear, b.closeDoor(op).Verdict)
	b.stripe.Settle(op.Reference, "requires_payment_method")
	require.Equal(t, payment.VerdictNotTaken, b.closeDoor(op).Verdict)
}

func TestW4_WhatStripeRefusesWithoutAnOutcomeIsUnclear(t *testing.T) {
	t.Parallel()
	for code, reason := range map[string]string{
		"lock_timeout": "lock_timeout", "idempotency_key_in_use": provider.ReasonKeyInUse, "api_error": provider.ReasonServerError,
		"permission": provider.ReasonCredentials, "parameter_unknown": "parameter_unknown",
	} {
		b := start(t)
		op := b.prepared()
		b.stripe.Script(fakestripe.Confirm, fakestripe.Step{Refuse: code})
		answer := b.send(op)
		require.Equal(t, payment.VerdictUnclear, answer.Verdict, "%s: %+v", code, answer)
		require.Equal(t, reason, answer.Reason)
		require.False(t, answer.NotSent)
	}
	b := start(t)
	op := b.prepared()
	b.stripe.Script(fakestripe.Confirm, fakestripe.Step{Refuse: "rate_limit"})
	answer := b.send(op)
	require.Equal(t, payment.VerdictNotTaken, answer.Verdict, "%+v", answer)
	require.Equal(t, 2*time.Second, answer.RetryAfter)
}

func TestTheKeyOfAnotherRequestIsNoDecline(t *testing.T) {
	t.Parallel()
	b := start(t)
	op := b.prepared()
	require.Equal(t, payment.VerdictCaptured, b.send(op).Verdict)
	refund := operation(t, payment.KindRefund, "1.00", "TRY", op.ObjectID)
	refund.ID = op.ID
	answer := b.send(refund)
	require.Equal(t, payment.VerdictUnclear, answer.Verdict)
	require.Equal(t, provider.ReasonKeyMismatch, answer.Reason)
}

// Stripe keeps a 500 under its key, so the same request would fail for a day.
func TestP2_AFailureThatStripeKeptIsNotInTheWayOfAPaymentIntent(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.stripe.Script(fakestripe.Create, fakestripe.Step{Refuse: "api_error"})
	op := b.prepared()
	require.Equal(t, 2, b.stripe.Arrived(fakestripe.Create))
	again, _ := b.connector.Prepare(t.Context(), op, within(time.Minute))
	require.Equal(t, op.ObjectID, again, "the same way leads to the same object")
	require.Equal(t, 1, b.stripe.Made(op.Reference))
	require.Equal(t, payment.VerdictCaptured, b.send(op).Verdict)

	b.stripe.Script(fakestripe.Create, fakestripe.Step{Refuse: "api_error"}, fakestripe.Step{Refuse: "api_error"})
	before := b.stripe.Arrived(fakestripe.Create)
	id, refused := b.connector.Prepare(t.Context(), charge(t, "10.00", "TRY"), within(time.Minute))
	require.Empty(t, id)
	require.Equal(t, provider.ReasonServerError, refused.Reason)
	require.True(t, refused.NotSent)
	require.Equal(t, 2, b.stripe.Arrived(fakestripe.Create)-before, "and no third time")
}

func TestWhatStripeRefusesToPrepare(t *testing.T) {
	t.Parallel()
	declined := func(reason string) provider.Answer {
		return provider.Answer{Verdict: payment.VerdictDeclined, Reason: reason}
	}
	again := func(reason string) provider.Answer { return provider.Answer{NotSent: true, Reason: reason} }
	for told, want := range map[string]provider.Answer{
		`"type":"invalid_request_error","code":"resource_missing","param":"payment_method"`: declined("resource_missing"),
		`"type":"invalid_request_error","code":"amount_too_small","param":"amount"`:         declined("amount_too_small"),
		`"type":"card_error","code":"card_declined","decline_code":"stolen_card"`:           declined("stolen_card"),
		`"type":"invalid_request_error","code":"parameter_unknown"`:                         again(provider.ReasonInvalidOperation),
		`"type":"invalid_request_error","param":"automatic_payment_methods"`:                again(provider.ReasonInvalidOperation),
		`"type":"idempotency_error"`: again(provider.ReasonKeyMismatch),
		`"type":"of_someone_else"`:   again(provider.ReasonNotPrepared),
	} {
		id, answer := says(t, 400, `{"error":{`+told+`,"message":"m"}}`).Prepare(t.Context(), charge(t, "10.00", "TRY"), within(time.Minute))
		require.Empty(t, id)
		require.Equal(t, want.Verdict, answer.Verdict, told)
		require.Equal(t, want.NotSent, answer.NotSent, told)
		require.Equal(t, want.Reason, answer.Reason, told)
	}
}

func TestB3_APreparedObjectMustEchoTheOperation(t *testing.T) {
	t.Parallel()
	op := charge(t, "10.00", "TRY")
	for name, intent := range map[string]string{
		"another amount":    fmt.Sprintf(`"amount":1001,"currency":"try","metadata":{"operation_id":%q}`, op.Reference),
		"another currency":  fmt.Sprintf(`"amount":1000,"currency":"usd","metadata":{"operation_id":%q}`, op.Reference),
		"another operation": `"amount":1000,"currency":"try","metadata":{"operation_id":"x"}`,
	} {
		id, answer := says(t, 200, `{"id":"pi_1","object":"payment_intent","status":"requires_confirmation",`+intent+`}`).
			Prepare(t.Context(), op, within(time.Minute))
		require.Empty(t, id, name)
		require.True(t, answer.NotSent, name)
	}
}

func TestP3_NothingButOurObjectsStateIsAnOutcome(t *testing.T) {
	t.Parallel()
	op := operation(t, payment.KindCharge, "10.00", "TRY", "pi_1")
	declined := func(intent string) string {
		return `{"error":{"type":"card_error","code":"card_declined","decline_code":"stolen_card","message":"m"` + intent + `}}`
	}
	state := func(id, reference, status, more string) string {
		return fmt.Sprintf(`,"payment_intent":{"id":%q,"object":"payment_intent","status":%q,"amount":1000,"currency":"try",`+
			`"metadata":{"operation_id":%q}%s}`, id, status, reference, more)
	}
	failed := `,"last_payment_error":{"type":"card_error","code":"card_declined","decline_code":"stolen_card"}`
	canceled := fmt.Sprintf(`{"id":"pi_1","object":"payment_intent","status":"canceled","amount":1000,"amount_received":5,"currency":"try",`+
		`"metadata":{"operation_id":%q}}`, op.Reference)
	for name, c := range map[string]struct {
		status  int
		body    string
		verdict payment.Verdict
	}{
		"our intent wants another card":         {402, declined(state("pi_1", op.Reference, "requires_payment_method", failed)), payment.VerdictDeclined},
		"a decline without our intent":          {402, declined(""), payment.VerdictUnclear},
		"a decline about another intent":        {402, declined(state("pi_2", op.Reference, "requires_payment_method", failed)), payment.VerdictUnclear},
		"a decline about another operation":     {402, declined(state("pi_1", "x", "requires_payment_method", failed)), payment.VerdictUnclear},
		"a decline, and our intent is at work":  {402, declined(state("pi_1", op.Reference, "processing", "")), payment.VerdictPending},
		"a decline, and it was never tried":     {402, declined(state("pi_1", op.Reference, "requires_payment_method", "")), payment.VerdictUnclear},
		"a decline, and it was never confirmed": {402, declined(state("pi_1", op.Reference, "requires_confirmation", "")), payment.VerdictUnclear},
		"an error of an unknown type":           {402, `{"error":{"type":"x","message":"m"}}`, payment.VerdictUnclear},
		"an intent with an error's status":      {402, `{"id":"pi_1","object":"payment_intent","status":"succeeded"}`, payment.VerdictUnclear},
		"an intent with a status of its own":    {202, `{"id":"pi_1","object":"payment_intent","status":"succeeded"}`, payment.VerdictUnclear},
		"canceled and yet paid":                 {200, canceled, payment.VerdictUnclear},
	} {
		answer := says(t, c.status, c.body).Send(t.Context(), op, within(time.Minute))
		require.Equal(t, c.verdict, answer.Verdict, "%s: %+v", name, answer)
		require.False(t, answer.NotSent, name)
	}
}

func TestRefundsAreFoundByTheirReference(t *testing.T) {
	t.Parallel()
	b := start(t)
	charged := b.prepared()
	require.Equal(t, payment.VerdictCaptured, b.send(charged).Verdict)
	refund := operation(t, payment.KindRefund, "4.00", "TRY", charged.ObjectID)
	require.Equal(t, payment.VerdictNotTaken, b.inquire(refund).Verdict)
	b.stripe.Script(fakestripe.Refund, fakestripe.Step{CutAfter: true})
	require.Equal(t, payment.VerdictUnclear, b.send(refund).Verdict)
	found := b.inquire(refund)
	require.Equal(t, payment.VerdictCaptured, found.Verdict, "%+v", found)
	require.Equal(t, refund.Amount, found.Amount)
	require.Equal(t, found.ObjectID, b.send(refund).ObjectID)
	require.Equal(t, 1, b.stripe.Refunded(refund.Reference))
	require.Equal(t, provider.ReasonUnsupported, b.closeDoor(refund).Reason)

	tooMuch := operation(t, payment.KindRefund, "6.01", "TRY", charged.ObjectID)
	answer := b.send(tooMuch)
	require.Equal(t, payment.VerdictDeclined, answer.Verdict, "%+v", answer)
	require.Equal(t, "charge_already_refunded", answer.Reason)

	pending := operation(t, payment.KindRefund, "1.00", "TRY", charged.ObjectID)
	b.stripe.Script(fakestripe.Refund, fakestripe.Step{Becomes: "pending"})
	require.Equal(t, payment.VerdictPending, b.send(pending).Verdict)
}

func TestARefundIsFoundAmongMany(t *testing.T) {
	t.Parallel()
	b := start(t)
	charged := b.prepared()
	b.send(charged)
	first := operation(t, payment.KindRefund, "0.01", "TRY", charged.ObjectID)
	b.send(first)
	for range 120 {
		b.send(operation(t, payment.KindRefund, "0.01", "TRY", charged.ObjectID))
	}
	require.Equal(t, payment.VerdictCaptured, b.inquire(first).Verdict, "on the second page")
	require.Equal(t, payment.VerdictNotTaken, b.inquire(operation(t, payment.KindRefund, "0.01", "TRY", charged.ObjectID)).Verdict)
}

func TestAVoidIsACancelAsLongAsNothingWasReceived(t *testing.T) {
	t.Parallel()
	b := start(t)
	charged := b.prepared()
	void := operation(t, payment.KindVoid, "10.00", "TRY", charged.ObjectID)
	b.stripe.Settle(charged.Reference, "requires_capture")
	require.Equal(t, payment.VerdictUnclear, b.inquire(void).Verdict)
	require.Equal(t, payment.VerdictCaptured, b.send(void).Verdict, "the void took place")
	require.Equal(t, payment.VerdictCaptured, b.inquire(void).Verdict)

	late := b.prepared()
	b.send(late)
	refused := b.send(operation(t, payment.KindVoid, "10.00", "TRY", late.ObjectID))
	require.Equal(t, payment.VerdictDeclined, refused.Verdict, "%+v", refused)
}

func TestTheAccountIsWhatStripeSays(t *testing.T) {
	t.Parallel()
	b := start(t)
	require.Empty(t, b.connector.Recipe())
	require.NoError(t, b.connector.Identify(t.Context()))
	require.Regexp(t, `^stripe/2/[0-9-]+\.[a-z]+@acct_1/test$`, b.connector.Recipe())

	told := connect(t, "http://127.0.0.1:1", stripe.Options{Account: "acct_2"})
	require.NoError(t, told.Identify(t.Context()), "it does not ask what it was told")
	require.Contains(t, told.Recipe(), "@acct_2/test")

	err := says(t, 401, `{"error":{"type":"invalid_request_error","message":"Invalid API Key provided: sk_test_0"}}`).Identify(t.Context())
	require.ErrorContains(t, err, "status 401")
	require.Error(t, says(t, 200, `{"object":"list"}`).Identify(t.Context()))
}

func TestO6_AKeyThatIsNoneIsRefusedWithoutShowingIt(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "pk_test_s3cret", "s3cret", "sk_test s3cret", "sk_test_s3cret\n", "sk_s3cret", "sk_live_s3cret\t"} {
		_, err := stripe.New("", stripe.Options{Key: key})
		require.Error(t, err)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, address := range []string{"localhost", "ftp://host", "https://sk_s3cret@host"} {
		_, err := stripe.New(address, stripe.Options{Key: testKey})
		require.Error(t, err, address)
		require.NotContains(t, err.Error(), "s3cret")
	}
	_, err := stripe.New("", stripe.Options{Key: "rk_test_1"})
	require.NoError(t, err)
}

func TestI19_NoAnswerCarriesASecretInItsError(t *testing.T) {
	t.Parallel()
	op := operation(t, payment.KindCharge, "10.00", "TRY", "pi_1")
	c := says(t, 400, `{"error":{"type":"invalid_request_error","code":"x","message":"pm_s3cret",`+
		`"payment_intent":{"id":"pi_9","object":"payment_intent","client_secret":"pi_s3cret"}}}`)
	for _, answer := range []provider.Answer{c.Send(t.Context(), op, within(time.Minute)), c.Inquire(t.Context(), op), c.CloseDoor(t.Context(), op)} {
		require.NotContains(t, fmt.Sprintf("%+v", answer), "s3cret")
	}
}
