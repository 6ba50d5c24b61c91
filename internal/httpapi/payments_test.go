package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

func TestI1_APaymentIsAcceptedAndCanBeLookedAt(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	posted := d.post(t, "k-1", `{"invoiceId":"INV-1","paymentType":"invoice","amount":"10.00","currency":"TRY",
		"paymentMethod":"tok_visa","customer":"cus_1","externalReference":"PO-1","metadata":{"order":7},"chargeBefore":"2036-01-01T00:00:00Z"}`)
	require.Equal(t, http.StatusAccepted, posted.status, "%s", posted.body)
	view := posted.view(t)
	require.Equal(t, location(view.ID), posted.header.Get("Location"))
	require.Empty(t, posted.header.Get("Idempotent-Replayed"))
	require.Equal(t, "no-store", posted.header.Get("Cache-Control"))
	require.Equal(t, payment.StateCreated, view.State)
	require.Equal(t, "1000", view.AmountMinor)
	require.NotNil(t, view.NextCheckAt, "an open payment says when it is looked at again")

	looked := d.get(t, posted.header.Get("Location"), d.key)
	require.Equal(t, http.StatusOK, looked.status)
	require.Equal(t, string(posted.body), string(looked.body))
}

func TestT1_AHundredRepeatsInSequenceAreOnePaymentWithEqualAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	first := d.post(t, "k-1", order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusAccepted, first.status)
	for range 49 {
		again := d.post(t, "k-1", order("INV-1", `10.0`))
		require.Equal(t, http.StatusAccepted, again.status)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		require.Equal(t, string(first.body), string(again.body))
	}
	settle.Charge(t, d.App, first.view(t), payment.VerdictCaptured)
	final := d.post(t, `"k-1"`, order("INV-1", `"10.00"`))
	require.Equal(t, http.StatusCreated, final.status)
	require.Equal(t, payment.StateCaptured, final.view(t).State)
	for range 49 {
		again := d.post(t, "k-1", order("INV-1", `"10"`))
		require.Equal(t, http.StatusCreated, again.status)
		require.Equal(t, "true", again.header.Get("Idempotent-Replayed"))
		require.Equal(t, location(first.view(t).ID), again.header.Get("Location"))
		require.Equal(t, string(final.body), string(again.body), "byte for byte")
	}
	var payments, postings int
	require.NoError(t, d.App.QueryRow(t.Context(),
		"SELECT (SELECT count(*) FROM payment), (SELECT count(DISTINCT operation_id) FROM ledger_entry)").Scan(&payments, &postings))
	require.Equal(t, 1, payments)
	require.Equal(t, 1, postings)
}

// atOnce posts n requests at the same time and returns their answers.
func atOnce(t *testing.T, n int, post func(i int) answer) []answer {
	t.Helper()
	answers := make(chan answer, n)
	start := make(chan struct{})
	for i := range n {
		go func() {
			<-start
			answers <- post(i)
		}()
	}
	close(start)
	all := make([]answer, n)
	for i := range all {
		all[i] = <-answers
	}
	return all
}

// inProgress reports whether the client is to ask again: a machine that is busy may
// keep a key for longer than a repeat waits.
func (a answer) inProgress() bool {
	return a.status == http.StatusConflict && strings.Contains(string(a.body), "urn:payonce:problem:request-in-progress")
}

// postPatiently is a client that asks again when it is told to.
func (d *door) postPatiently(t *testing.T, key, body string, changes ...func(*http.Request)) answer {
	t.Helper()
	for {
		if a := d.post(t, key, body, changes...); !a.inProgress() {
			return a
		}
	}
}

func TestT2_AHundredPostsAtOnceWithOneKeyAreOnePayment(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	ids := map[uuid.UUID]bool{}
	first := 0
	for _, a := range atOnce(t, 100, func(int) answer { return d.post(t, "k-1", order("INV-1", `"10.00"`)) }) {
		if a.inProgress() {
			continue
		}
		require.Equal(t, http.StatusAccepted, a.status, "%s", a.body)
		ids[a.view(t).ID] = true
		if a.header.Get("Idempotent-Replayed") == "" {
			first++
		}
	}
	require.Len(t, ids, 1)
	require.Equal(t, 1, first)
	require.Equal(t, payments(1), d.stored(t))
}

func TestT3_TheSameKeyWithAnotherAmountIsRefusedAndTheFirstIsUntouched(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	first := d.post(t, "k-1", order("INV-1", `"10.00"`))
	refused := d.post(t, "k-1", order("INV-1", `"10.01"`))
	require.Equal(t, http.StatusUnprocessableEntity, refused.status)
	p := refused.problem(t)
	require.Equal(t, "urn:payonce:problem:idempotency-key-reused", p.Type)
	require.Equal(t, []string{"amount"}, p.DifferingFields)
	require.False(t, p.Retryable)
	require.NotContains(t, string(refused.body), "10.01")
	require.Equal(t, payments(1), d.stored(t))
	require.Equal(t, string(first.body), string(d.get(t, first.header.Get("Location"), d.key).body))
}

func TestT8_TwoPostsAtOnceAreOneRowWithEqualAnswers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	for round := range 20 {
		invoice := fmt.Sprintf("INV-%d", round)
		answers := atOnce(t, 2, func(int) answer { return d.postPatiently(t, invoice, order(invoice, `"10.00"`)) })
		require.Equal(t, http.StatusAccepted, answers[0].status)
		require.Equal(t, http.StatusAccepted, answers[1].status)
		require.Equal(t, string(answers[0].body), string(answers[1].body))
	}
	require.Equal(t, payments(20), d.stored(t))
}

func TestI9_OfAHundredKeysForOneInvoiceOneIsAccepted(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	accepted := map[uuid.UUID]bool{}
	holders := map[uuid.UUID]bool{}
	for _, a := range atOnce(t, 100, func(i int) answer {
		return d.postPatiently(t, fmt.Sprintf("k-%d", i), order("INV-1", `"10.00"`))
	}) {
		if a.status == http.StatusAccepted {
			accepted[a.view(t).ID] = true
			continue
		}
		require.Equal(t, http.StatusConflict, a.status)
		p := a.problem(t)
		require.Equal(t, "urn:payonce:problem:invoice-has-payment", p.Type)
		require.False(t, p.Retryable)
		require.Empty(t, a.header.Get("Retry-After"))
		require.Equal(t, "INV-1", p.Payment.InvoiceID)
		holders[p.Payment.ID] = true
	}
	require.Len(t, accepted, 1)
	require.Equal(t, accepted, holders)
	require.Equal(t, payments(1), d.stored(t))
}

func TestI9_AnExternalReferenceIsUniqueInTheSameWay(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	body := `{"invoiceId":"INV-%d","paymentType":"invoice","amount":"1.00","currency":"USD","externalReference":"PO-1"}`
	first := d.post(t, "k-1", fmt.Sprintf(body, 1))
	second := d.post(t, "k-2", fmt.Sprintf(body, 2))
	require.Equal(t, http.StatusConflict, second.status)
	p := second.problem(t)
	require.Equal(t, "urn:payonce:problem:external-reference-in-use", p.Type)
	require.Equal(t, first.view(t).ID, p.Payment.ID)
	require.Equal(t, payments(1), d.stored(t))
}

func TestI7_AnotherMerchantSeesAndBlocksNothing(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	_, strangersKey := d.merchant(t)
	as := func(apiKey string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+apiKey) }
	}
	mine := d.post(t, "k-1", order("INV-1", `"10.00"`))
	theirs := d.post(t, "k-1", order("INV-1", `"99.00"`), as(strangersKey))
	require.Equal(t, http.StatusAccepted, theirs.status)
	require.NotEqual(t, mine.view(t).ID, theirs.view(t).ID)

	hidden := d.get(t, mine.header.Get("Location"), strangersKey)
	absent := d.get(t, location(uuid.New()), strangersKey)
	require.Equal(t, http.StatusNotFound, hidden.status)
	require.Equal(t, string(absent.body), string(hidden.body), "another's payment looks like none")
	require.Equal(t, "urn:payonce:problem:not-found", hidden.problem(t).Type)
	require.Equal(t, http.StatusNotFound, d.get(t, "/v1/payments/1", d.key).status)

	// A transaction of theirs that holds their key and invoice blocks nobody else.
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = library.Rollback(context.Background()) }()
	d.acceptIn(t, library, "held", "INV-2")
	require.Equal(t, http.StatusAccepted, d.post(t, "held", order("INV-2", `"10.00"`), as(strangersKey)).status)
}

// acceptIn accepts a payment of the door's merchant the way the library does.
func (d *door) acceptIn(t *testing.T, tx pgx.Tx, key, invoice string) accept.Result {
	t.Helper()
	request, err := accept.Command{
		MerchantID: d.shop.ID, ProviderAccount: d.shop.ProviderAccount, IdempotencyKey: key,
		InvoiceID: invoice, PaymentType: "invoice", Amount: "10.00", Currency: "TRY", PaymentMethod: new(token),
	}.Validate()
	require.NoError(t, err)
	results, err := d.rules.Accept(t.Context(), tx, []accept.Request{request})
	require.NoError(t, err)
	return results[0]
}

func TestI4_AKeyThatIsHeldTooLongIsAConflictToRetryAndItsNeighboursAreAnswered(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = library.Rollback(context.Background()) }()
	held := d.acceptIn(t, library, "held", "INV-0")

	busy := 0
	for _, a := range atOnce(t, 40, func(i int) answer {
		if i == 0 {
			return d.post(t, "held", order("INV-0", `"10.00"`))
		}
		return d.post(t, fmt.Sprintf("k-%d", i), order(fmt.Sprintf("INV-%d", i), `"10.00"`))
	}) {
		if a.inProgress() {
			busy++
			require.True(t, a.problem(t).Retryable)
			require.Equal(t, "1", a.header.Get("Retry-After"))
			continue
		}
		require.Equal(t, http.StatusAccepted, a.status)
	}
	require.Equal(t, 1, busy)
	require.NoError(t, library.Commit(t.Context()))
	again := d.post(t, "held", order("INV-0", `"10.00"`))
	require.Equal(t, "true", again.header.Get("Idempotent-Replayed"), "the doors share their keys")
	require.Equal(t, held.PaymentID, again.view(t).ID)
	require.Equal(t, payments(40), d.stored(t))
}

func TestR8_ContextGoesFromTheHeadersToTheEvent(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	d.post(t, `"k-1"`, order("INV-1", `"10.00"`), func(r *http.Request) {
		r.Header.Set("traceparent", trace)
		r.Header.Set("X-Correlation-ID", "c-1")
		r.Header.Set("X-Request-ID", "req-1")
	})
	d.post(t, "k-2", order("INV-2", `"10.00"`), func(r *http.Request) {
		r.Header.Add("X-Correlation-ID", "c-1")
		r.Header.Add("X-Correlation-ID", "c-2")
	})
	headers := func(invoice string) (list string) {
		require.NoError(t, d.App.QueryRow(t.Context(),
			"SELECT o.headers::text FROM outbox o JOIN payment p ON p.id = o.key WHERE p.invoice_id = $1", invoice).Scan(&list))
		return list
	}
	first := headers("INV-1")
	require.Contains(t, first, `{"n": "traceparent", "v": "`+trace+`"}`)
	require.Contains(t, first, `{"n": "correlationid", "v": "c-1"}`)
	require.Contains(t, first, `{"n": "causationid", "v": "req-1"}`)
	require.Contains(t, first, `{"n": "idempotencykey", "v": "k-1"}`)
	require.NotContains(t, headers("INV-2"), `"c-1"`, "of two nobody knows which one is meant")
}
