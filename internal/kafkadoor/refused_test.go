package kafkadoor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/payonce/payonce/internal/kafka"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// Said again in an answer, the name would make it larger than a broker takes.
func TestI1_AHeadersNameIsNeverSaidAgainHoweverLongItIs(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	name := "ce_" + strings.Repeat("<", 12000)
	poison := h.shop.command("k-0", body("INV-0", "10.00"))
	poison.Headers = append(poison.Headers, kgo.RecordHeader{Key: name, Value: []byte("1")}, kgo.RecordHeader{Key: name, Value: []byte("2")})
	refused := h.shop.ask(t, poison).rejected(t)
	require.Equal(t, "urn:payonce:problem:command-malformed", refused.Type)
	require.NotContains(t, refused.Detail, "<")
	require.Equal(t, "malformed", h.letters(t, 1)[0].headers["dead-letter-reason"])
	h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
}

func TestI6_I7_AKeyInQuotesIsRefusedBecauseItIsAnotherKeyOverHTTP(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	refused := h.shop.ask(t, h.shop.command(`"k-1"`, body("INV-2", "10.00"))).rejected(t)
	require.Equal(t, "urn:payonce:problem:idempotency-key-malformed", refused.Type)
	require.Equal(t, 1, h.payments(t))
}

func TestI6_I19_AKeyIsNamedAsTheSenderKnowsIt(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	_, err := h.Owner.Exec(t.Context(), "UPDATE merchant SET checks_identifiers = true")
	require.NoError(t, err)
	h.start(t)
	refused := h.shop.ask(t, h.shop.command("k 1", body("INV-1", "10.00"))).rejected(t)
	require.Equal(t, "urn:payonce:problem:idempotency-key-malformed", refused.Type)
	require.Contains(t, refused.Detail, "ce_id")
	const card = "4242424242424242"
	command := h.shop.command(card, body("INV-1", "10.00"))
	command.Key = []byte(card)
	answer := h.shop.ask(t, command)
	refused = answer.rejected(t)
	require.Equal(t, "urn:payonce:problem:card-data-refused", refused.Type)
	require.Equal(t, "ce_id", refused.Errors[0].Field)
	require.NotContains(t, fmt.Sprint(answer.headers, string(answer.Key), string(answer.Value)), card, "what is refused is not sent on")
	require.Zero(t, h.payments(t))
}

func TestI1_ACommandWhoseKeyLeavesNoRoomForAnAnswerIsNotCarriedOut(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.start(t)
	large := h.shop.command("k-1", body("INV-1", "10.00"))
	large.Key = make([]byte, kafka.RecordBytesMax+1)
	require.Equal(t, "urn:payonce:problem:command-malformed", h.shop.ask(t, large).rejected(t).Type)
	require.Zero(t, h.payments(t))
}

// The payment exists, its answer was lost, and then the disk is full for as long as it
// takes: to be told "rejected" is to pay in another way.
func TestI14_AFaultOfTheWholeDatabaseIsWaitedOutAndNoPaymentIsDenied(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	h.acceptUnheard(t)
	_, err := h.Owner.Exec(t.Context(), `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN RAISE 'no space left' USING ERRCODE = '53100'; END $$;
		CREATE TRIGGER fail BEFORE INSERT ON idempotency_key FOR EACH STATEMENT EXECUTE FUNCTION fail()`)
	require.NoError(t, err)
	d := h.start(t)
	const moreThanTries = 11
	require.Eventually(t, func() bool {
		return d.logs.FilterMessage("commands wait").Len() >= moreThanTries
	}, patience, 5*time.Millisecond)
	_, err = h.Owner.Exec(t.Context(), "DROP TRIGGER fail ON idempotency_key")
	require.NoError(t, err)
	_, replayed := h.shop.hear(t, 1)[0].accepted(t)
	require.True(t, replayed)
	require.Zero(t, d.logs.FilterMessageSnippet("given up").Len())
}

// Its key was swept, its topic is read again.
func TestI12_AnExpiredCommandIsShownThePaymentThatHoldsItsInvoice(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	first := h.start(t)
	view, _ := h.shop.ask(t, h.shop.command("k-1", body("INV-1", "10.00"))).accepted(t)
	settle.Charge(t, h.App, view, payment.VerdictCaptured)
	first.stop()
	require.Equal(t, 1, h.forget(t))
	h.start(t)
	answer := h.shop.hear(t, 1)[0]
	expired := answer.rejected(t)
	require.Equal(t, "urn:payonce:problem:command-expired", expired.Type)
	require.NotNil(t, expired.Payment)
	require.Equal(t, view.ID, expired.Payment.ID)
	require.Equal(t, payment.StateCaptured, expired.Payment.State)
	require.Equal(t, view.ID.String(), answer.headers["ce_subject"])
	require.NotContains(t, expired.Detail, "not carried out")
}
