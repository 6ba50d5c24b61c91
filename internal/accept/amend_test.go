package accept

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/groupcommit"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func (d *till) amendments() Amendments {
	return NewAmendments(AmendmentRules{Pool: d.App, Topics: event.TopicsWithPrefix("payonce"), Source: d.rules.Source})
}

func (d *till) about(view payment.View, key string) Amendment {
	return Amendment{MerchantID: d.shop.ID, PaymentID: view.ID, IdempotencyKey: key}
}

// created is a payment that waits to be sent.
func (d *till) created(t *testing.T, invoice string) payment.View {
	t.Helper()
	return d.accept(t, d.order(t, "pay-"+invoice, invoice, reference("PO-"+invoice)))[0].Payment
}

// capturedPayment is one over 10.00 that the provider took.
func (d *till) capturedPayment(t *testing.T, invoice string) payment.View {
	t.Helper()
	view := d.created(t, invoice)
	settle.Capture(t, d.App, view)
	return view
}

func (d *till) cancel(t *testing.T, view payment.View, key string) (Canceled, error) {
	t.Helper()
	return d.amendments().Cancel(t.Context(), d.about(view, key))
}

func (d *till) refund(t *testing.T, view payment.View, key, reference, amount string) (Refunding, error) {
	t.Helper()
	return d.amendments().Refund(t.Context(), RefundCommand{Amendment: d.about(view, key), Reference: reference, Amount: amount})
}

// isBarred requires that an amendment met a barrier and left nothing.
func (d *till) isBarred(t *testing.T, want Barrier, amend func() error) BarrierError {
	t.Helper()
	before := d.rows(t)
	err := amend()
	var barrier *BarrierError
	require.ErrorAs(t, err, &barrier)
	require.Equal(t, want, barrier.Barrier)
	require.Equal(t, before, d.rows(t), "it left nothing")
	return *barrier
}

func (d *till) view(t *testing.T, id uuid.UUID) payment.View {
	t.Helper()
	views, err := operation.Views(t.Context(), d.App, d.shop.ID, []uuid.UUID{id})
	require.NoError(t, err)
	return views[id]
}

func TestR8_ACancelsEventCarriesWhatTheCancelCameWith(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	told := func(p payment.View) map[string]string {
		var headers []event.Header
		require.NoError(t, d.App.QueryRow(t.Context(),
			"SELECT headers FROM payment_history WHERE payment_id = $1 AND event_type = $2", p.ID, event.PaymentCanceled).Scan(&headers))
		named := map[string]string{}
		for _, h := range headers {
			named[h.Name] = h.Value
		}
		return named
	}
	p, a := d.created(t, "INV-1"), d.amendments()
	about := d.about(p, "c-1")
	about.TraceParent, about.CorrelationID, about.CausationID = trace, "clicks", "req-7"
	_, err := a.Cancel(t.Context(), about)
	require.NoError(t, err)
	headers := told(p)
	require.Equal(t, trace, headers[event.HeaderTraceParent])
	require.Equal(t, "clicks", headers[event.HeaderCorrelationID])
	require.Equal(t, "req-7", headers[event.HeaderCausationID])
	require.Equal(t, "pay-INV-1", headers[event.HeaderIdempotencyKey], "the payment's own")

	silent := d.created(t, "INV-2")
	_, err = a.Cancel(t.Context(), d.about(silent, "c-2"))
	require.NoError(t, err)
	headers = told(silent)
	require.Equal(t, silent.ID.String(), headers[event.HeaderCorrelationID])
	require.Equal(t, "c-2", headers[event.HeaderCausationID])
}

func TestI15_CancelEndsAPaymentThatWasNeverSentInOneTransaction(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.created(t, "INV-1")
	done, err := d.cancel(t, p, "c-1")
	require.NoError(t, err)
	require.False(t, done.Replayed)
	require.Equal(t, http.StatusOK, done.Status)
	shown := d.view(t, p.ID)
	require.Equal(t, payment.StateCanceled, shown.State)
	body, err := shown.Encode()
	require.NoError(t, err)
	require.Equal(t, string(body), string(done.Body))
	require.Equal(t, &Answer{http.StatusCreated, done.Body}, d.answer(t, p.ID), "the payment's own key answers, too")
	var told event.Type
	var payload []byte
	require.NoError(t, d.App.QueryRow(t.Context(), `SELECT h.event_type, o.payload FROM outbox o JOIN payment_history h USING (event_id)
		WHERE o.topic = 'payonce.events'`).Scan(&told, &payload))
	require.Equal(t, event.PaymentCanceled, told)
	require.Contains(t, string(payload), `"state":"canceled"`)

	again, err := d.cancel(t, p, "c-1")
	require.NoError(t, err)
	require.Equal(t, Canceled{done.Answer, true}, again)
	other, err := d.cancel(t, p, "c-2")
	require.NoError(t, err)
	require.Equal(t, string(done.Body), string(other.Body), "canceled already")
	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, "pay-again", "INV-1", reference("PO-INV-1")))[0].Outcome, "its invoice and reference are free")
}

func TestI15_ACancelThatComesTooLateStoresNothing(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	barrier := d.isBarred(t, BarrierNotCancelable, func() error { _, err := d.cancel(t, p, "c-1"); return err })
	require.Equal(t, payment.StateCaptured, barrier.Payment.State)
	d.isBarred(t, BarrierNoPayment, func() error {
		_, err := d.amendments().Cancel(t.Context(), Amendment{MerchantID: uuid.New(), PaymentID: p.ID, IdempotencyKey: "c-1"})
		return err
	})
	q := d.created(t, "INV-2")
	_, err := d.cancel(t, q, "c-1")
	require.NoError(t, err, "the key is free")
	barrier = d.isBarred(t, BarrierKeyReused, func() error { _, err := d.cancel(t, p, "c-1"); return err })
	require.Equal(t, []string{"{id}"}, barrier.Differing)
}

// A cancel and a claim want the same row. Whoever gets it decides, and the other one
// sees that.
func TestI15_OfACancelAndAClaimExactlyOneWins(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	const count = 60
	var canceled, claimed int
	for i := range count {
		p := d.created(t, fmt.Sprint("INV-", i))
		var wins [2]bool
		var racers sync.WaitGroup
		begin := make(chan struct{})
		racers.Go(func() {
			<-begin
			_, err := d.amendments().Cancel(t.Context(), d.about(p, fmt.Sprint("c-", i)))
			wins[0] = err == nil
		})
		racers.Go(func() {
			<-begin
			err := pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
				attempts, err := claiming.Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
				wins[1] = err == nil && len(attempts) == 1
				return err
			})
			wins[1] = wins[1] && err == nil
		})
		close(begin)
		racers.Wait()
		require.NotEqual(t, wins[0], wins[1], "payment %d", i)
		want := payment.StateProcessing
		if wins[0] {
			canceled++
			want = payment.StateCanceled
		} else {
			claimed++
		}
		require.Equal(t, want, d.view(t, p.ID).State)
	}
	t.Logf("%d canceled, %d claimed", canceled, claimed)
}

var claiming = operation.Claim{
	Worker: "worker-1", Served: []operation.Served{{Account: "simulated", Recipe: "recipe/1@main", Horizon: time.Hour}}, Lease: time.Minute,
}

func TestI15_ARefundIsTakenOnWhole(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	done, err := d.refund(t, p, "r-1", "R-1", "4.00")
	require.NoError(t, err)
	require.Equal(t, payment.OperationCreated, done.Refund.State)
	require.Equal(t, "4.00", done.Refund.Amount)
	require.Equal(t, "4.00", d.view(t, p.ID).Refunded)
	var payload []byte
	require.NoError(t, d.App.QueryRow(t.Context(), `SELECT o.payload FROM outbox o JOIN payment_history h USING (event_id)
		WHERE o.topic = 'payonce.requests' AND h.event_type = $1 AND o.key = $2`, event.RefundRequested, p.ID).Scan(&payload))
	var asked event.RefundAsked
	require.NoError(t, json.Unmarshal(payload, &asked))
	require.Equal(t, done.RefundID, asked.RefundID)
	require.Equal(t, "400", asked.AmountMinor)

	rest, err := d.refund(t, p, "r-2", "R-2", "")
	require.NoError(t, err)
	require.Equal(t, "6.00", rest.Refund.Amount, "all that was left")
	barrier := d.isBarred(t, BarrierBeyondLimit, func() error { _, err := d.refund(t, p, "r-3", "R-3", "0.01"); return err })
	require.Zero(t, barrier.Left.Minor())
	d.isBarred(t, BarrierBeyondLimit, func() error { _, err := d.refund(t, p, "r-3", "R-3", ""); return err })
}

func TestI4_ARefundsKeyAnswersAsAPaymentsDoes(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p, q := d.capturedPayment(t, "INV-1"), d.capturedPayment(t, "INV-2")
	first, err := d.refund(t, p, "r-1", "R-1", "")
	require.NoError(t, err)
	open, err := d.refund(t, p, "r-1", "R-1", "")
	require.NoError(t, err, "an absent amount is compared as absent, although nothing is left")
	require.Equal(t, Refunding{RefundID: first.RefundID, Refund: first.Refund, Replayed: true}, open)
	for name, other := range map[string]struct {
		about             payment.View
		reference, amount string
	}{
		"amount": {p, "R-1", "10.00"}, "refundReference": {p, "R-2", ""}, "{id}": {q, "R-1", ""},
	} {
		barrier := d.isBarred(t, BarrierKeyReused, func() error { _, err := d.refund(t, other.about, "r-1", other.reference, other.amount); return err })
		require.Equal(t, []string{name}, barrier.Differing)
	}
	settle.Refund(t, d.App, first.Refund, payment.VerdictCaptured)
	final, err := d.refund(t, p, "r-1", "R-1", "")
	require.NoError(t, err)
	require.Equal(t, http.StatusCreated, final.Answer.Status)
	require.Contains(t, string(final.Answer.Body), `"state":"succeeded"`)
	require.Equal(t, d.answer(t, first.RefundID), final.Answer)
}

func TestI15_AReferenceIsTakenForEver(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p, q := d.capturedPayment(t, "INV-1"), d.capturedPayment(t, "INV-2")
	first, err := d.refund(t, p, "r-1", "R-1", "4.00")
	require.NoError(t, err)
	settle.Refund(t, d.App, first.Refund, payment.VerdictDeclined)
	require.Equal(t, "0.00", d.view(t, p.ID).Refunded)
	barrier := d.isBarred(t, BarrierReferenceUsed, func() error { _, err := d.refund(t, p, "r-2", "R-1", "4.00"); return err })
	require.Equal(t, first.RefundID, barrier.Refund.ID)
	require.Equal(t, payment.OperationFailed, barrier.Refund.State)
	_, err = d.refund(t, p, "r-3", "R-2", "10.00")
	require.NoError(t, err, "what failed does not count")
	_, err = d.refund(t, q, "r-4", "R-1", "4.00")
	require.NoError(t, err, "another payment has references of its own")
}

func TestI15_WhatIsNotCapturedOrInDoubtIsNotRefunded(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	for name, p := range map[string]payment.View{"created": d.created(t, "INV-1"), "declined": d.created(t, "INV-2")} {
		if name == "declined" {
			settle.Charge(t, d.App, p, payment.VerdictDeclined)
		}
		barrier := d.isBarred(t, BarrierNotRefundable, func() error { _, err := d.refund(t, p, "r-1", "R-1", ""); return err })
		require.Equal(t, p.ID, barrier.Payment.ID)
	}
	p := d.capturedPayment(t, "INV-3")
	_, err := d.App.Exec(t.Context(), `WITH no AS (INSERT INTO evidence (id, operation_id, source, verdict, asked_at, covers_until, hash)
			VALUES (gen_random_uuid(), $1, 'inquiry', 'declined', payonce_now(), payonce_now() - interval '1 s', sha256('')))
		SELECT`, p.OperationID)
	require.NoError(t, err)
	_, err = d.App.Exec(t.Context(), `WITH k AS (INSERT INTO payment_case (id, payment_id, operation_id, kind, provider_account, suspended, plan, waits_for)
			VALUES (gen_random_uuid(), $1, $2, 'failed_after_captured', 'simulated', false, 'person', 'person') RETURNING id, plan)
		INSERT INTO payment_case_history (case_id, version, to_state, plan, actor, who, reason)
			SELECT id, 1, 'open', plan, 'machine', 'test', 'inquiry' FROM k`,
		p.ID, p.OperationID)
	require.NoError(t, err)
	d.isBarred(t, BarrierNotRefundable, func() error { _, err := d.refund(t, p, "r-1", "R-1", ""); return err })
}

func TestI15_RulesOfARefund(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	other := "USD"
	for field, c := range map[string]RefundCommand{
		FieldRefundReference: {Amendment: d.about(p, "r-1")},
		FieldAmount:          {Amendment: d.about(p, "r-1"), Reference: "R-1", Amount: "1.001"},
		FieldCurrency:        {Amendment: d.about(p, "r-1"), Reference: "R-1", Currency: &other},
		FieldMetadata:        {Amendment: d.about(p, "r-1"), Reference: "R-1", Metadata: []byte(`[]`)},
	} {
		_, err := d.amendments().Refund(t.Context(), c)
		var invalid *InvalidError
		require.ErrorAs(t, err, &invalid)
		require.Equal(t, field, invalid.Fields[0].Field)
	}
	_, err := d.refund(t, p, "", "R-1", "")
	require.ErrorIs(t, err, idempotency.ErrKeyEmpty)
	a := d.amendments()
	a.Refundable = func(string, money.Amount) error { return fmt.Errorf("has no refunds") }
	barrier := d.isBarred(t, BarrierNoRefunds, func() error {
		_, err := a.Refund(t.Context(), RefundCommand{Amendment: d.about(p, "r-1"), Reference: "R-1"})
		return err
	})
	require.Equal(t, "has no refunds", barrier.Problem)
	_, err = d.amendments().Refund(t.Context(), RefundCommand{
		Amendment: d.about(p, "r-1"), Reference: "R-1", Currency: new("TRY"), Metadata: []byte(`{"why": "damaged"}`),
	})
	require.NoError(t, err)
}

func TestI15_ParallelRefundsNeverComeToMoreThanWasCaptured(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	const count = 100
	var taken sync.Map
	var racers sync.WaitGroup
	for i := range count {
		racers.Go(func() {
			for { // a lock that was not to be had in time is asked for again
				_, err := d.amendments().Refund(t.Context(), RefundCommand{
					Amendment: d.about(p, fmt.Sprint("r-", i)), Reference: fmt.Sprint("R-", i), Amount: "0.30",
				})
				var barrier *BarrierError
				switch {
				case err == nil:
					taken.Store(i, true)
					return
				case errors.As(err, &barrier):
					if barrier.Barrier != BarrierBeyondLimit {
						t.Errorf("refund %d: %v", i, err)
					}
					return
				}
			}
		})
	}
	racers.Wait()
	n := 0
	taken.Range(func(any, any) bool { n++; return true })
	require.Equal(t, 33, n, "33 times 0.30 are 9.90")
	require.Equal(t, "9.90", d.view(t, p.ID).Refunded)
}

func TestT2_TheSameRefundAHundredTimesAtOnceIsOneRefund(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	ids := make([]uuid.UUID, 100)
	var racers sync.WaitGroup
	for i := range ids {
		racers.Go(func() {
			for ids[i] == uuid.Nil {
				done, err := d.amendments().Refund(t.Context(), RefundCommand{Amendment: d.about(p, "r-1"), Reference: "R-1", Amount: "4.00"})
				if err == nil {
					ids[i] = done.RefundID
				}
			}
		})
	}
	racers.Wait()
	for _, id := range ids {
		require.Equal(t, ids[0], id)
	}
	require.Equal(t, "4.00", d.view(t, p.ID).Refunded)
}

func TestI4_AnAmendmentWaitsForAHeldPaymentAndThenSaysSo(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	p := d.capturedPayment(t, "INV-1")
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		require.NoError(t, groupcommit.SetLockWait(t.Context(), tx, time.Second))
		_, err := operation.Lock(t.Context(), tx, []uuid.UUID{p.OperationID})
		require.NoError(t, err)
		_, err = d.refund(t, p, "r-1", "R-1", "")
		require.ErrorIs(t, err, ErrBusy)
		return nil
	}))
	_, err := d.refund(t, p, "r-1", "R-1", "")
	require.NoError(t, err)
}
