package httpapi

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

var withoutKey = header("Idempotency-Key")

// legacyDoor is a door whose merchant has clients that send no key.
func legacyDoor(t *testing.T) *door {
	t.Helper()
	d := newDoor(t)
	d.configure(t, func(s *merchant.Settings) { s.DerivesKeys = true })
	return d
}

func TestI17_KeysAreDerivedForMerchantsWhoWantItOnly(t *testing.T) {
	t.Parallel()
	d := legacyDoor(t)
	_, strangersKey := d.merchant(t)
	refused := d.post(t, "", order("INV-1", `"10.00"`), withoutKey, header("Authorization", "Bearer "+strangersKey))
	require.Equal(t, "urn:payonce:problem:idempotency-key-missing", refused.problem(t).Type)
	require.Equal(t, "urn:payonce:problem:idempotency-key-malformed", d.post(t, "", order("INV-1", `"10.00"`), header("Idempotency-Key", "")).problem(t).Type,
		"a client that sends an empty one means to send one")
	require.Equal(t, payments(0), d.stored(t))

	first := d.post(t, "", order("INV-1", `"10.00"`), withoutKey)
	require.Equal(t, http.StatusAccepted, first.status, "%s", first.body)
	require.Equal(t, "true", first.header.Get("Idempotency-Key-Derived"))
	require.Empty(t, first.header.Get("Idempotent-Replayed"))
	again := d.post(t, "", order("INV-1", `10`), withoutKey)
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
	require.Equal(t, string(first.body), string(again.body))

	with := d.post(t, "k-2", order("INV-2", `"10.00"`))
	require.Equal(t, http.StatusAccepted, with.status)
	require.Empty(t, with.header.Get("Idempotency-Key-Derived"), "a key that is sent is used")
}

func TestI17_AnotherAmountForALivePaymentsInvoiceIsAMismatch(t *testing.T) {
	t.Parallel()
	d := legacyDoor(t)
	first := d.post(t, "", order("INV-1", `"10.00"`), withoutKey)
	mismatch := func() {
		other := d.post(t, "", order("INV-1", `"11.00"`), withoutKey)
		require.Equal(t, http.StatusUnprocessableEntity, other.status)
		require.Equal(t, []string{"amount"}, other.problem(t).DifferingFields)
	}
	mismatch()
	settle.Charge(t, d.App, first.view(t), payment.VerdictCaptured)
	mismatch()
	final := d.post(t, "", order("INV-1", `"10.00"`), withoutKey)
	require.Equal(t, http.StatusCreated, final.status)
	stored := d.stored(t)
	require.Equal(t, []int{1, 1}, []int{stored["payment"], stored["idempotency_key"]})
}

func TestI17_AfterADeclineARepeatIsAnsweredAndTheInvoiceCanBePaidAgain(t *testing.T) {
	t.Parallel()
	d := legacyDoor(t)
	pay := func(body string) answer { return d.post(t, "", body, withoutKey) }
	declined := pay(order("INV-1", `"10.00"`))
	settle.Charge(t, d.App, declined.view(t), payment.VerdictDeclined)

	repeat := pay(order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusCreated, repeat.status)
	require.Equal(t, payment.StateFailed, repeat.view(t).State, "the client's own retry gets the first one's answer")
	require.Equal(t, declined.view(t).ID, repeat.view(t).ID)

	otherCard := `{"invoiceId":"INV-1","paymentType":"invoice","amount":"10.00","currency":"TRY","paymentMethod":"tok_other"}`
	second := pay(otherCard)
	require.Equal(t, http.StatusAccepted, second.status, "%s", second.body)
	require.NotEqual(t, declined.view(t).ID, second.view(t).ID, "another card is another try")
	require.Equal(t, second.view(t).ID, pay(otherCard).view(t).ID)
	settle.Charge(t, d.App, second.view(t), payment.VerdictDeclined)

	d.SetNow(t, accept.DerivedRepeatFor+time.Minute)
	third := pay(otherCard)
	require.Equal(t, http.StatusAccepted, third.status, "later, the same card is another try too")
	require.NotEqual(t, second.view(t).ID, third.view(t).ID)
	settle.Charge(t, d.App, third.view(t), payment.VerdictCaptured)
	require.Equal(t, third.view(t).ID, pay(otherCard).view(t).ID)
	var keys int
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT count(DISTINCT key) FROM idempotency_key WHERE key LIKE 'derived:%'").Scan(&keys))
	require.Equal(t, 3, keys)
}

func TestI17_AHundredRequestsAtOnceWithoutAKeyAreOnePayment(t *testing.T) {
	t.Parallel()
	d := legacyDoor(t)
	for round := range 2 {
		ids := map[uuid.UUID]bool{}
		var last answer
		for _, a := range atOnce(t, 100, func(int) answer { return d.post(t, "", order("INV-1", `"10.00"`), withoutKey) }) {
			if a.inProgress() {
				continue
			}
			require.Equal(t, http.StatusAccepted, a.status, "%s", a.body)
			ids[a.view(t).ID] = true
			last = a
		}
		require.Len(t, ids, 1, "round %d", round)
		settle.Charge(t, d.App, last.view(t), payment.VerdictDeclined)
		d.SetNow(t, time.Duration(round+1)*(accept.DerivedRepeatFor+time.Minute))
	}
	var stored int
	require.NoError(t, d.App.QueryRow(context.Background(), "SELECT count(*) FROM payment").Scan(&stored))
	require.Equal(t, 2, stored)
}
