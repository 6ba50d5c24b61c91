package simulated_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/provider/simulated"
	"github.com/payonce/payonce/pkg/payment"
)

// The provider's words, with REF for our reference. Each is what some version or
// fault of a provider could say; only complete sentences about our operation are
// an outcome.
const (
	captured1000 = `{"id":"ch_1","reference":"REF","status":"captured","amountMinor":1000,"currency":"TRY"}`
	captured999  = `{"id":"ch_1","reference":"REF","status":"captured","amountMinor":999,"currency":"TRY"}`
	pending999   = `{"id":"ch_1","reference":"REF","status":"pending","amountMinor":999,"currency":"TRY"}`
	pending1000  = `{"id":"ch_1","reference":"REF","status":"pending","amountMinor":1000,"currency":"TRY"}`
	declined1000 = `{"id":"ch_2","reference":"REF","status":"declined","amountMinor":1000,"currency":"TRY","reason":"stolen_card"}`
	voided1000   = `{"id":"ch_1","reference":"REF","status":"voided","amountMinor":1000,"currency":"TRY"}`
	disputed1000 = `{"id":"ch_1","reference":"REF","status":"disputed","amountMinor":1000,"currency":"TRY"}`
	another1000  = `{"id":"ch_1","reference":"OTHER","status":"captured","amountMinor":1000,"currency":"TRY"}`
	nameless     = `{"reference":"REF","status":"captured","amountMinor":1000,"currency":"TRY"}`
)

// says starts a provider that answers every request with the same words.
func says(t *testing.T, op provider.Operation, status int, body string) *simulated.Connector {
	t.Helper()
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		if _, _, ok := c.Request(); ok {
			c.Answer(status, "application/json", strings.ReplaceAll(body, "REF", op.Reference))
		}
	})
	return connect(t, simulated.Full, server.URL(), simulated.Options{})
}

func TestP3_OnlyWholeSentencesAboutOurOperationAreAnOutcome(t *testing.T) {
	t.Parallel()
	send := func(c *simulated.Connector, op provider.Operation) provider.Answer {
		return c.Send(t.Context(), op, provider.NewStopDeadline(time.Now().Add(time.Minute)))
	}
	inquire := func(c *simulated.Connector, op provider.Operation) provider.Answer { return c.Inquire(t.Context(), op) }
	closeDoor := func(c *simulated.Connector, op provider.Operation) provider.Answer {
		return c.CloseDoor(t.Context(), op)
	}
	for _, c := range []struct {
		ask     func(*simulated.Connector, provider.Operation) provider.Answer
		status  int
		body    string
		verdict payment.Verdict
		reason  string
	}{
		{send, 201, captured1000, payment.VerdictCaptured, ""},
		{send, 200, captured1000, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 201, nameless, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 201, disputed1000, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 201, captured999, payment.VerdictCaptured, provider.ReasonEchoMismatch}, // money moved; Amount says how much
		{send, 201, pending999, payment.VerdictUnclear, provider.ReasonEchoMismatch},
		{send, 201, declined1000, payment.VerdictDeclined, "stolen_card"},
		{send, 201, voided1000, payment.VerdictDeclined, provider.ReasonVoided},
		{send, 201, captured1000 + "{}", payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 422, `{"error":{"code":"refused"}}`, payment.VerdictDeclined, "refused"},
		{send, 422, `{"error":"refused"}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 400, `{"error":{"code":"refused"}}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{send, 429, `{"error":{"code":"too_many_requests"}}`, payment.VerdictNotTaken, provider.ReasonTryLater},
		{send, 503, `{"error":{"code":"closed"}}`, payment.VerdictUnclear, provider.ReasonTryLater},
		{send, 500, `{"error":{"code":"storage_failed"}}`, payment.VerdictUnclear, provider.ReasonServerError},

		{inquire, 200, `{"charges":[]}`, payment.VerdictNotTaken, provider.ReasonNotFound},
		{inquire, 404, `{"charges":[]}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{inquire, 200, `{"charges":null}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{inquire, 200, `{"charges":[{}]}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{inquire, 200, `{"charges":[` + another1000 + `]}`, payment.VerdictUnclear, provider.ReasonReferenceMismatch},
		{inquire, 200, `{"charges":[` + declined1000 + `]}`, payment.VerdictDeclined, "stolen_card"},
		{inquire, 200, `{"charges":[` + declined1000 + `,` + captured1000 + `]}`, payment.VerdictCaptured, ""},
		{inquire, 200, `{"charges":[` + pending1000 + `,` + declined1000 + `]}`, payment.VerdictPending, ""},
		{inquire, 200, `{"charges":[` + declined1000 + `,` + captured999 + `]}`, payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{inquire, 200, `{"charges":[` + captured1000 + `,` + captured1000 + `]}`, payment.VerdictCaptured, provider.ReasonSeveralCharges},

		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[]}`, payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + voided1000 + `]}`, payment.VerdictNotTaken, provider.ReasonVoided},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + declined1000 + `]}`, payment.VerdictNotTaken, provider.ReasonDoorClosed},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + voided1000 + `,` + captured1000 + `]}`, payment.VerdictCaptured, ""},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + pending1000 + `]}`, payment.VerdictUnclear, ""},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + captured999 + `]}`, payment.VerdictCaptured, provider.ReasonEchoMismatch},
		{closeDoor, 200, `{"reference":"REF","closed":true,"charges":[` + disputed1000 + `]}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{closeDoor, 200, `{"reference":"REF","closed":true}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{closeDoor, 200, `{"reference":"REF","closed":false,"charges":[]}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
		{closeDoor, 200, `{"reference":"OTHER","closed":true,"charges":[]}`, payment.VerdictUnclear, provider.ReasonReferenceMismatch},
		{closeDoor, 202, `{"reference":"REF","closed":true,"charges":[]}`, payment.VerdictUnclear, provider.ReasonForeignAnswer},
	} {
		op := operation(t, payment.KindCharge, "")
		answer := c.ask(says(t, op, c.status, c.body), op)
		require.Equal(t, c.verdict, answer.Verdict, "%d %s: %+v", c.status, c.body, answer)
		require.Equal(t, c.reason, answer.Reason, "%d %s", c.status, c.body)
		require.Equal(t, c.status, answer.Status)
		require.False(t, answer.NotSent)
	}
}

// A resend is byte-identical: the recipe is part of the contract with the
// provider's key.
func TestTheRequestOfAnOperationIsAlwaysTheSameBytes(t *testing.T) {
	t.Parallel()
	op := operation(t, payment.KindCharge, "")
	op.Customer = "cus_1"
	var bodies, keys []string
	server := conformance.NewServer(t, func(c *conformance.Conn) {
		for {
			req, body, ok := c.Request()
			if !ok {
				return
			}
			bodies, keys = append(bodies, body), append(keys, req.Header.Get("Idempotency-Key"))
			c.Answer(http.StatusInternalServerError, "text/plain", "x")
		}
	})
	connector := connect(t, simulated.Full, server.URL(), simulated.Options{})
	for range 2 {
		connector.Send(t.Context(), op, provider.NewStopDeadline(time.Now().Add(time.Minute)))
	}
	server.Close()
	want := `{"reference":"` + op.Reference + `","amountMinor":1000,"currency":"TRY","paymentMethod":"tok","customer":"cus_1"}`
	require.Equal(t, []string{want, want}, bodies)
	require.Equal(t, []string{op.ID.String(), op.ID.String()}, keys)
}
