package operation_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func (b *bench) view(p operation.NewPayment) payment.View {
	b.t.Helper()
	views, err := operation.Views(b.t.Context(), b.App, p.MerchantID, []uuid.UUID{p.PaymentID})
	require.NoError(b.t, err)
	require.Contains(b.t, views, p.PaymentID)
	return views[p.PaymentID]
}

func TestI7_APaymentOfAnotherMerchantLooksLikeNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	mine, theirs := fixture.Accept(t, b.App), fixture.Accept(t, b.App)
	views, err := operation.Views(t.Context(), b.App, mine.MerchantID, []uuid.UUID{theirs.PaymentID, mine.PaymentID, uuid.New()})
	require.NoError(t, err)
	require.Len(t, views, 1)
	require.Contains(t, views, mine.PaymentID)
}

func TestI3_AnOpenPaymentSaysWhenItIsLookedAtNext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reference := "PO-1"
	p := fixture.Accept(t, b.App, func(p *operation.NewPayment) { p.ExternalReference = &reference })
	v := b.view(p)
	due := v.CreatedAt.Add(operation.MessageGrace)
	require.Equal(t, payment.View{
		ID: p.PaymentID, OperationID: p.OperationID, State: payment.StateCreated, Amount: "10.00", AmountMinor: "1000", Currency: "TRY",
		InvoiceID: p.InvoiceID, PaymentType: "invoice", ExternalReference: &reference, Refunded: "0.00",
		NextCheckAt: &due, CreatedAt: v.CreatedAt, UpdatedAt: v.UpdatedAt,
	}, v)
	require.Equal(t, time.UTC, v.CreatedAt.Location())

	claimedAt := b.claimed(p)[0].ClaimedAt
	v = b.view(p)
	require.Equal(t, payment.StateProcessing, v.State)
	require.True(t, claimedAt.Add(lease).Equal(*v.NextCheckAt), "the lease's end, when someone else takes over")
	require.True(t, claimedAt.Equal(v.UpdatedAt))

	at := b.locked(p).Now.Add(time.Hour)
	require.NoError(t, b.moved(p, operation.Standing{
		State: payment.OperationUnknown, Fence: 1, NextCheckAt: &at, WaitsFor: operation.Machine, Reason: new("no-answer"),
	}))
	v = b.view(p)
	require.Equal(t, payment.StateUnknown, v.State, "being checked, never failed")
	require.Equal(t, new("no-answer"), v.Reason)
	require.True(t, at.Equal(*v.NextCheckAt))
}

func TestP5_HistoryKeepsAnEventAsItIsPublished(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	told := event.Event{
		ID: uuid.Must(uuid.NewV7()), Type: event.PaymentUnknown, Source: fixture.Source, Topic: "payonce.events", Key: p.PaymentID,
		Time: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC), Context: p.Context, Payload: []byte(`{"n": 1.10, "s": "ü"}`),
	}
	entries := []operation.History{
		{
			PaymentID: p.PaymentID, OperationID: p.OperationID, From: payment.OperationProcessing, To: payment.OperationUnknown, Fence: 2,
			Reason: "no-answer", Event: &told,
		},
		{PaymentID: p.PaymentID, OperationID: p.OperationID, From: payment.OperationUnknown, To: payment.OperationCreated, Fence: 3},
	}
	must(b, func(ctx context.Context, tx pgx.Tx) (bool, error) { return true, operation.Record(ctx, tx, entries) })

	type kept struct {
		From, To, Reason, Type, Topic *string
		Fence                         int64
		EventID                       *uuid.UUID
		Headers                       []event.Header
		Payload                       []byte
	}
	rows, err := b.App.Query(t.Context(), `SELECT from_state, to_state, reason, event_type, event_topic, fence, event_id, headers, payload
		FROM payment_history WHERE payment_id = $1 ORDER BY seq`, p.PaymentID)
	require.NoError(t, err)
	stored, err := pgx.CollectRows(rows, pgx.RowToStructByPos[kept])
	require.NoError(t, err)
	require.Len(t, stored, 3)
	require.Nil(t, stored[0].From, "the accept")
	require.Equal(t, kept{
		From: new("processing"), To: new("unknown"), Reason: new("no-answer"), Type: new(string(event.PaymentUnknown)),
		Topic: new("payonce.events"), Fence: 2, EventID: &told.ID, Headers: told.Headers(), Payload: told.Payload,
	}, stored[1])
	require.Equal(t, kept{From: new("unknown"), To: new("created"), Fence: 3}, stored[2], "nobody was told")
}

func TestI2_NothingOfAPaymentExistsBeforeItsCommit(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	crash := errors.New("crash")
	p := fixture.Accept(t, b.App)
	again := p
	again.PaymentID, again.OperationID, again.InvoiceID = uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), "INV-2"
	_, err := within(t.Context(), b.App, func(tx pgx.Tx) (bool, error) {
		taken, err := operation.HoldIdentities(t.Context(), tx, []operation.NewPayment{again})
		require.NoError(t, err)
		require.Empty(t, taken)
		accepted, err := operation.Create(t.Context(), tx, []operation.NewPayment{again})
		require.NoError(t, err)
		require.Contains(t, accepted, again.PaymentID)
		return true, crash
	})
	require.ErrorIs(t, err, crash)
	for _, table := range []string{"payment", "operation", "invoice_identity"} {
		require.Equal(t, 1, b.count("SELECT count(*) FROM "+table), table)
	}
	_, err = within(t.Context(), b.App, func(tx pgx.Tx) (map[uuid.UUID]time.Time, error) {
		return operation.Create(t.Context(), tx, []operation.NewPayment{again, again})
	})
	require.Error(t, err, "two payments with one id")
}
