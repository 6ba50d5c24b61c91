package outcome_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// kept is an event as history or the outbox has it.
type kept struct {
	ID      uuid.UUID
	Topic   string
	Headers []event.Header
	Payload []byte
}

func (d *desk) kept(sql string, p operation.NewPayment) []kept {
	d.t.Helper()
	rows, err := d.pool.Query(d.t.Context(), sql, p.PaymentID)
	require.NoError(d.t, err)
	events, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kept])
	require.NoError(d.t, err)
	return events
}

func (d *desk) inOutbox(p operation.NewPayment) []kept {
	return d.kept("SELECT event_id, topic, headers, payload FROM outbox WHERE key = $1 ORDER BY seq", p)
}

func (d *desk) inHistory(p operation.NewPayment) []kept {
	return d.kept(`SELECT event_id, event_topic, headers, payload FROM payment_history
		WHERE payment_id = $1 AND event_id IS NOT NULL ORDER BY seq`, p)
}

func TestP5_OutboxAndHistoryHaveTheSameEventsByteForByte(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictUnclear), d.word(p, evidence.Inquiry, payment.VerdictPending))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured))
	published := d.inOutbox(p)
	require.Len(t, published, 4, "requested, unknown, pending, captured")
	require.Equal(t, published, d.inHistory(p))
	ids := map[uuid.UUID]bool{}
	for _, e := range published {
		ids[e.ID] = true
		require.Contains(t, e.Headers, event.Header{Name: event.HeaderID, Value: e.ID.String()})
	}
	require.Len(t, ids, 4)
}

func TestP5_WhatDoesNotCommitIsToldToNobody(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	crash := errors.New("crash")
	_, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]outcome.Applied, error) {
		applied, err := publisher.Apply(ctx, tx, []outcome.Outcome{answer(a, payment.VerdictCaptured)})
		require.NoError(t, err)
		require.Equal(t, payment.OperationSucceeded, applied[0].To)
		return nil, crash
	})
	require.ErrorIs(t, err, crash)
	d.stands(p, payment.OperationProcessing, "")
	require.Len(t, d.inOutbox(p), 1, "PaymentRequested")
	require.Len(t, d.inHistory(p), 1)
	require.Zero(t, d.evidence(p))
	require.Zero(t, d.postings(p))
	require.Zero(t, d.count("SELECT count(*) FROM idempotency_key WHERE status IS NOT NULL"))
	require.Zero(t, d.count("SELECT count(*) FROM attempt WHERE finished_at IS NOT NULL"))
}

func TestR8_AnOutcomesEventCarriesOnWhatTheRequestBrought(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, func(o *outcome.Outcome) { o.Learned.ProviderObjectID = "ch_1" }))
	captured := d.inOutbox(p)[1]
	require.Equal(t, "payonce.events", captured.Topic)
	got, err := event.Receive([]byte(p.PaymentID.String()), captured.Headers)
	require.NoError(t, err)
	origin := p.Context
	origin.CausationID = p.OperationID.String()
	require.Equal(t, event.Received{ID: captured.ID, Type: event.PaymentCaptured, Key: p.PaymentID, Context: origin}, got)

	var data event.Outcome
	require.NoError(t, json.Unmarshal(captured.Payload, &data))
	require.Equal(t, event.Outcome{
		PaymentID: p.PaymentID, OperationID: p.OperationID, MerchantID: p.MerchantID, State: payment.StateCaptured, InvoiceID: p.InvoiceID,
		PaymentType: p.PaymentType, Amount: "10.00", AmountMinor: "1000", Currency: "TRY", Provider: fixture.Account,
		ProviderObjectID: new("ch_1"), OccurredAt: d.view(p).UpdatedAt,
	}, data)
	require.NotContains(t, string(captured.Payload), p.PaymentMethod, "I19: the provider's token is in no event")
}

func (d *desk) view(p operation.NewPayment) payment.View {
	d.t.Helper()
	views, err := operation.Views(d.t.Context(), d.pool, p.MerchantID, []uuid.UUID{p.PaymentID})
	require.NoError(d.t, err)
	require.Contains(d.t, views, p.PaymentID)
	return views[p.PaymentID]
}

func TestI4_TheStoredAnswerIsWhatGetShows(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	reference := "PO-1"
	withReference := func(p *operation.NewPayment) { p.ExternalReference = &reference }
	for name, told := range map[string]func(operation.Attempt) outcome.Outcome{
		"captured": func(a operation.Attempt) outcome.Outcome { return answer(a, payment.VerdictCaptured) },
		"failed": func(a operation.Attempt) outcome.Outcome {
			return answer(a, payment.VerdictDeclined, because("expired-card"))
		},
	} {
		p, a := d.claimed(withReference)
		d.apply(told(a))
		shown, err := d.view(p).Encode()
		require.NoError(t, err)
		var status int
		var body []byte
		stored := "SELECT status, body FROM idempotency_key WHERE resource_id = $1"
		require.NoError(t, d.App.QueryRow(t.Context(), stored, p.PaymentID).Scan(&status, &body))
		require.Equal(t, 201, status, "whatever the outcome, which stands in the body")
		require.Equal(t, string(shown), string(body), name)
	}
}

// A payment without a key, such as one of another door, gets its outcome too.
func TestAnOutcomeNeedsNoKey(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	_, err := d.Owner.Exec(t.Context(), "ALTER TABLE idempotency_key DISABLE TRIGGER ALL; DELETE FROM idempotency_key")
	require.NoError(t, err)
	d.apply(answer(a, payment.VerdictCaptured))
	d.stands(p, payment.OperationSucceeded, "")
}

func TestR7_OutcomesWorkThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var err error
	d.pool, err = postgres.Open(t.Context(), d.AppURL+"&default_query_exec_mode=exec", postgres.PoolOptions{})
	require.NoError(t, err)
	defer d.pool.Close()

	captured, first := d.claimed()
	failed, second := d.claimed()
	waiting, third := d.claimed(fixture.ChargeBefore(time.Now().Add(30 * time.Second)))
	lost, _ := d.claimed()
	d.apply(
		answer(first, payment.VerdictPending, because("3ds"), func(o *outcome.Outcome) {
			o.Learned.ProviderObjectID, o.Learned.Status = "ch_1", 202
		}),
		answer(second, payment.VerdictUnclear), answer(third, payment.VerdictUnclear, notSent),
	)
	d.SetNow(t, time.Minute)
	require.Len(t, d.takeOver(), 1)
	d.apply(
		d.word(captured, evidence.Webhook, payment.VerdictCaptured),
		d.word(failed, evidence.Closure, payment.VerdictNotTaken, authoritative, settle),
	)
	expired, _ := d.expire()
	require.Len(t, expired, 1)
	d.stands(captured, payment.OperationSucceeded, "")
	d.stands(failed, payment.OperationFailed, outcome.ReasonNotTaken)
	d.stands(waiting, payment.OperationFailed, outcome.ReasonExpired)
	d.stands(lost, payment.OperationUnknown, outcome.ReasonLeaseRanOut)
	require.Equal(t, d.inOutbox(captured), d.inHistory(captured))
	require.Equal(t, 1, d.postings(captured))
}
