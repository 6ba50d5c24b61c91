package kafkadoor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

func TestI1_ACommandIsAnsweredUnderItsSendersKey(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.RealBroker(t))
	h.start(t)
	a := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"), with("correlationid", "basket-9")))
	view, replayed := a.accepted(t)
	require.False(t, replayed)
	require.Equal(t, "10.00", view.Amount)
	require.Equal(t, payment.StateCreated, view.State)
	require.Equal(t, "order 7", string(a.Key))
	require.Equal(t, "k-1", a.headers["causationid"])
	require.Equal(t, "basket-9", a.headers["correlationid"])
	require.Equal(t, view.ID.String(), a.headers["ce_subject"])
	require.Equal(t, "/payonce/test", a.headers["ce_source"])
	require.Equal(t, 1, h.payments(t))
	var causation, correlation string
	require.NoError(t, h.App.QueryRow(t.Context(), "SELECT headers::text, headers::text FROM payment_history").Scan(&causation, &correlation))
	require.Contains(t, causation, `"k-1"`)
	require.Contains(t, correlation, `"basket-9"`)
}

func TestR8_AnAnswerToACommandWithoutACorrelationIDHasThatOfThePaymentsEvents(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	a := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00")))
	var headers string
	require.NoError(t, h.App.QueryRow(t.Context(), "SELECT headers::text FROM payment_history").Scan(&headers))
	require.NotEmpty(t, a.headers["correlationid"])
	require.Contains(t, headers, `{"n": "correlationid", "v": "`+a.headers["correlationid"]+`"}`)
}

func TestP6_I4_I5_I9_TheRulesAreThoseOfTheOtherDoors(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	first, _ := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	again := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.0")))
	second, replayed := again.accepted(t)
	require.True(t, replayed)
	require.Equal(t, first.ID, second.ID)

	mismatched := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "11.00"))).rejected(t)
	require.Equal(t, "urn:payonce:problem:idempotency-key-reused", mismatched.Type)
	require.Equal(t, 422, mismatched.Status)
	require.Equal(t, []string{"amount"}, mismatched.DifferingFields)

	conflict := h.shop.ask(t, h.shop.command("k-2", body("INV-1", "10.00"))).rejected(t)
	require.Equal(t, "urn:payonce:problem:invoice-has-payment", conflict.Type)
	require.Equal(t, first.ID, conflict.Payment.ID)

	settle.Charge(t, h.App, first, payment.VerdictCaptured)
	final, replayed := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	require.True(t, replayed)
	require.Equal(t, payment.StateCaptured, final.State)
	require.Equal(t, 1, h.payments(t))
}

// Both doors use accept, with one key.
func TestT1_I7_AKeyIsOneKeyAtAllDoors(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	view, _ := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	command, err := accept.DecodePayment([]byte(body("INV-1", "10.0")))
	require.NoError(t, err)
	command.MerchantID, command.ProviderAccount, command.IdempotencyKey = h.shop.id, fixture.Account, "k-1"
	request, err := command.Validate()
	require.NoError(t, err)
	tx, err := h.App.Begin(t.Context())
	require.NoError(t, err)
	results, err := h.rules.Accept(t.Context(), tx, []accept.Request{request})
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, accept.OutcomeReplayed, results[0].Outcome)
	require.Equal(t, view.ID, results[0].PaymentID)
}

func TestI1_TheMerchantIsWhoseTopicItIs(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	other := h.open(t)
	view, _ := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"), with("merchantid", other.id.String()))).accepted(t)
	theirs, replayed := other.ask(t, other.command("k-1", body("INV-1", "10.00"))).accepted(t)
	require.False(t, replayed, "another merchant's key, and another's invoice")
	require.NotEqual(t, view.ID, theirs.ID)
	var owner uuid.UUID
	require.NoError(t, h.App.QueryRow(t.Context(), "SELECT merchant_id FROM payment WHERE id = $1", view.ID).Scan(&owner))
	require.Equal(t, h.shop.id, owner)
}

// A topic is read again from its beginning, long after the keys were swept.
func TestI1_ACommandOlderThanTheKeyWindowIsAnsweredExpired(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.rules.KeyWindow = 24 * time.Hour
	h.start(t)
	known, _ := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	h.SetNow(t, 25*time.Hour)
	expired := h.shop.ask(t, h.shop.command("k-2", body("INV-2", "10.00"))).rejected(t)
	require.Equal(t, "urn:payonce:problem:command-expired", expired.Type)
	require.False(t, expired.Retryable)
	repeat, replayed := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	require.True(t, replayed, "its key is still there")
	require.Equal(t, known.ID, repeat.ID)

	h.SetNow(t, 0)
	old := time.Now().Add(-25 * time.Hour).Format(time.RFC3339)
	copied := h.shop.ask(t, h.shop.command("k-3", body("INV-3", "10.00"), with("ce_time", old))).rejected(t)
	require.Equal(t, "urn:payonce:problem:command-expired", copied.Type, "a copy is as old as it says")
	require.Equal(t, 1, h.payments(t))
}

func TestW6_I1_ABadRecordIsAnsweredAndHoldsNothing(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	good := body("INV-1", "10.00")
	for i, c := range []struct {
		record  *kgo.Record
		problem string
		reason  string // in the dead letters
	}{
		{h.shop.command("", good, with("ce_id", "")), "idempotency-key-missing", "malformed"},
		{&kgo.Record{Topic: h.shop.topics.Commands, Key: []byte("order 7"), Value: []byte{0xff, 0}}, "command-malformed", "malformed"},
		{h.shop.command("k", good, with("ce_specversion", "0.3")), "command-malformed", "malformed"},
		{h.shop.command("k", good, with("ce_source", "")), "command-malformed", "malformed"},
		{h.shop.command("k", good, with("ce_type", "payonce.SubmitPayment.v2")), "command-unsupported", "unknown-version"},
		{h.shop.command("k", good, with("ce_type", "")), "command-unsupported", "unknown-version"},
		{h.shop.command("k", good, with("ce_type", "payonce.SubmitPaymnet.v1")), "command-unsupported", "unknown-version"},
		{h.shop.command("k", good, with("ce_time", "yesterday")), "command-malformed", "malformed"},
		{h.shop.command("k k", good), "idempotency-key-malformed", ""},
		{h.shop.command("k", good, with("content-type", "text/plain")), "unsupported-media-type", ""},
		{h.shop.command("k", `{"invoiceId":"a","invoiceId":"b"}`), "malformed-body", ""},
		{h.shop.command("k", `{"iban":"x"}`), "invalid-request", ""},
		{h.shop.command("k", body("INV-1", "-1")), "invalid-request", ""},
		{h.shop.command("k", `{"a":"`+strings.Repeat("x", accept.BodyBytesMax)+`"}`), "body-too-large", ""},
	} {
		document := h.shop.ask(t, c.record).rejected(t)
		require.Equal(t, "urn:payonce:problem:"+c.problem, document.Type, "%d", i)
		require.False(t, document.Retryable)
		if c.reason != "" {
			letter := h.letters(t, i+1)[i]
			require.Equal(t, c.reason, letter.headers["dead-letter-reason"])
			require.Equal(t, c.record.Value, letter.Value, "whole")
			require.Equal(t, c.record.Key, letter.Key)
		}
	}
	require.Zero(t, h.payments(t))
	h.shop.ask(t, h.shop.command("k-1", good)).accepted(t)
}

// An answer to an event of ours would be an event of ours, too.
func TestI1_OurOwnEventsAreRefusedAndAnsweredByNobody(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	good := body("INV-1", "10.00")
	h.shop.send(t,
		h.shop.command("k-1", good, with("ce_source", "/payonce/main")),
		h.shop.command("k-2", good, with("ce_type", "payonce.PaymentAccepted.v1")),
		h.shop.command("k-3", good, with("ce_type", "payonce.PaymentRequested.v1")),
	)
	view, _ := h.shop.ask(t, h.shop.command("k-4", good)).accepted(t)
	require.Equal(t, "INV-1", view.InvoiceID, "the first answer is to the only command")
	for _, letter := range h.letters(t, 3) {
		require.Equal(t, "own-event", letter.headers["dead-letter-reason"])
	}
	require.Equal(t, 1, h.payments(t))
}
