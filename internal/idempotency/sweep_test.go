package idempotency_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

const window = 72 * time.Hour

func sweeper(d *testkit.Database) idempotency.Sweeper {
	return idempotency.Sweeper{Pool: d.App, Window: window, Log: zap.NewNop()}
}

func sweep(t *testing.T, d *testkit.Database) int {
	t.Helper()
	swept, err := sweeper(d).Sweep(t.Context())
	require.NoError(t, err)
	return swept
}

// reserveMany stores keys of one merchant that stand for nothing, with answers if they
// are to have some.
func reserveMany(t *testing.T, d *testkit.Database, name string, count int, answered bool) []idempotency.Entry {
	t.Helper()
	shop := uuid.New()
	entries := make([]idempotency.Entry, count)
	answers := make([]idempotency.Answer, count)
	for i := range entries {
		entries[i] = entry(shop, fmt.Sprintf("%s-%d", name, i), "1")
		answers[i] = idempotency.Answer{ResourceID: entries[i].ResourceID, Status: 201, Body: []byte("{}")}
	}
	reserve(t, d.App, entries...)
	if answered {
		require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
			return idempotency.StoreAnswers(t.Context(), tx, answers)
		}))
	}
	return entries
}

func keys(t *testing.T, d *testkit.Database) (n int) {
	t.Helper()
	require.NoError(t, d.App.QueryRow(t.Context(), "SELECT count(*) FROM idempotency_key").Scan(&n))
	return n
}

func view(p operation.NewPayment) payment.View {
	return payment.View{ID: p.PaymentID, OperationID: p.OperationID, Amount: p.Amount.Decimal(), Currency: p.Amount.Currency()}
}

func TestI12_KeysGoAfterTheirWindowAndNeverWhileThePaymentIsOpen(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	captured, declined, open := fixture.Accept(t, d.App), fixture.Accept(t, d.App), fixture.Accept(t, d.App)
	settle.Charge(t, d.App, view(captured), payment.VerdictCaptured)
	settle.Charge(t, d.App, view(declined), payment.VerdictDeclined)

	for _, early := range []time.Duration{0, window - time.Minute, window + time.Minute, window + idempotency.ClockMargin - time.Minute} {
		d.SetNow(t, early)
		require.Zero(t, sweep(t, d), early)
	}
	d.SetNow(t, window+idempotency.ClockMargin+time.Minute)
	require.Equal(t, 2, sweep(t, d))
	require.Equal(t, 1, keys(t, d))

	settle.Charge(t, d.App, view(open), payment.VerdictUnclear)
	d.SetNow(t, 100*window)
	require.Zero(t, sweep(t, d), "nobody knows what became of it")
	require.Equal(t, 1, keys(t, d))
}

func TestI12_TheKeyOfAPaymentThatWasOpenForLongAnswersForADayAfterItsAnswer(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	late := fixture.Accept(t, d.App)
	d.SetNow(t, 2*window)
	settle.Charge(t, d.App, view(late), payment.VerdictDeclined)
	require.Zero(t, sweep(t, d))
	d.SetNow(t, 2*window+idempotency.AnswerMin-time.Minute)
	require.Zero(t, sweep(t, d))
	require.Equal(t, 1, keys(t, d))
	d.SetNow(t, 2*window+idempotency.AnswerMin+time.Minute)
	require.Equal(t, 1, sweep(t, d))
}

// No code makes such a key. One that a fault leaves behind must not stay for ever.
func TestI12_AKeyWithoutAnAnswerGoesWhenItsPaymentHasBeenFinalForADay(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	declined := fixture.Accept(t, d.App)
	settle.Charge(t, d.App, view(declined), payment.VerdictDeclined)
	_, err := d.Owner.Exec(t.Context(), `ALTER TABLE idempotency_key DISABLE TRIGGER a_stored_answer_stays;
		UPDATE idempotency_key SET status = NULL, body = NULL, answered_at = NULL`)
	require.NoError(t, err)
	d.SetNow(t, window+idempotency.ClockMargin+time.Minute)
	require.Equal(t, 1, sweep(t, d))
}

// What was answered by a version that kept no time of it goes with its window.
func TestO8_I12_AnAnswerWithoutATimeIsAsOldAsItsKey(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	captured := fixture.Accept(t, d.App)
	settle.Charge(t, d.App, view(captured), payment.VerdictCaptured)
	_, err := d.Owner.Exec(t.Context(), `ALTER TABLE idempotency_key DISABLE TRIGGER a_stored_answer_stays;
		UPDATE idempotency_key SET answered_at = NULL`)
	require.NoError(t, err)
	d.SetNow(t, window+idempotency.ClockMargin+time.Minute)
	require.Equal(t, 1, sweep(t, d))
}

func TestI12_KeysOfOpenPaymentsDoNotStandInFrontOfOthers(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	reserveMany(t, d, "open", 1100, false)
	reserveMany(t, d, "final", 1100, true)
	d.SetNow(t, 2*window)
	require.Equal(t, 1100, sweep(t, d))
	require.Equal(t, 1100, keys(t, d))
}

func TestI12_SeveralSweepersShareTheWorkAndHoldUpNobody(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	entries := reserveMany(t, d, "k", 3000, true)
	d.SetNow(t, 2*window)
	holder, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	require.NoError(t, idempotency.LockByResource(t.Context(), holder, []uuid.UUID{entries[0].ResourceID, entries[1500].ResourceID}))

	var sweepers errgroup.Group
	swept := make([]int, 4)
	for i := range swept {
		sweepers.Go(func() (err error) {
			swept[i], err = sweeper(d).Sweep(t.Context())
			return err
		})
	}
	require.NoError(t, sweepers.Wait())
	require.Equal(t, 2998, swept[0]+swept[1]+swept[2]+swept[3], "each key once, and not those that somebody holds")
	require.NoError(t, holder.Commit(t.Context()))
	require.Equal(t, 2, sweep(t, d))
}

func TestI12_ASweptKeyIsFreeAgain(t *testing.T) {
	t.Parallel()
	d := newDatabase(t)
	first := reserveMany(t, d, "k", 1, true)[0]
	d.SetNow(t, 2*window)
	require.Equal(t, 1, sweep(t, d))
	second := entry(first.MerchantID, first.Key, "2")
	require.Equal(t, second.ResourceID, reserve(t, d.App, second)[0].ResourceID)
	require.NoError(t, pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		if err := idempotency.LockByResource(t.Context(), tx, []uuid.UUID{first.ResourceID}); err != nil {
			return err
		}
		return idempotency.StoreAnswers(t.Context(), tx, []idempotency.Answer{{ResourceID: first.ResourceID, Status: 201, Body: []byte("{}")}})
	}), "an outcome that comes later finds no key, and needs none")
	require.Zero(t, sweep(t, d), "the new one is young, and not answered")
}
