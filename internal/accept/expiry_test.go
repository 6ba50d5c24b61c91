package accept

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/payment"
)

// swept is when a key of now is old enough to be swept.
const swept = idempotency.WindowDefault + idempotency.ClockMargin + time.Minute

// sweep removes what is old enough and returns how many keys those were.
func (d *till) sweep(t *testing.T) int {
	t.Helper()
	n, err := idempotency.Sweeper{Pool: d.App, Window: idempotency.WindowDefault, Log: zap.NewNop()}.Sweep(t.Context())
	require.NoError(t, err)
	return n
}

// newKey is a time-ordered key that was made some time ago.
func newKey(t *testing.T, ago time.Duration) string {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	unix := uint64(time.Now().Add(-ago).UnixMilli())
	for i := range 6 {
		id[i] = byte(unix >> (8 * (5 - i)))
	}
	return id.String()
}

func TestI12_T10_AStoredKeyAnswersHoweverOldItIs(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	key := newKey(t, 0)
	first := d.accept(t, d.order(t, key, "INV-1"))[0]
	d.SetNow(t, 10*idempotency.WindowDefault)
	require.Zero(t, d.sweep(t), "the payment is open")
	require.Equal(t, first.PaymentID, d.accept(t, d.order(t, key, "INV-1"))[0].PaymentID)
	require.Equal(t, OutcomeMismatched, d.accept(t, d.order(t, key, "INV-2"))[0].Outcome)
}

func TestI12_T10_ATimeOrderedKeyThatWasSweptIsRefusedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	key := newKey(t, 0)
	first := d.accept(t, d.order(t, key, "INV-1"))[0]
	settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	d.SetNow(t, swept)
	require.Equal(t, OutcomeReplayed, d.accept(t, d.order(t, key, "INV-1"))[0].Outcome, "the sweeper has not come by yet")
	require.Equal(t, 1, d.sweep(t))
	before := d.rows(t)
	require.Equal(t, Result{Outcome: OutcomeExpired}, d.accept(t, d.order(t, key, "INV-1"))[0], "the invoice is free, and still no second payment")
	require.Equal(t, before, d.rows(t))
	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, newKey(t, -swept), "INV-1"))[0].Outcome, "a new key does it")
}

func TestI12_T10_AnyOtherKeyThatWasSweptIsNewAndTheInvoiceDecides(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	captured := d.accept(t, d.order(t, "k-1", "INV-1"))[0]
	declined := d.accept(t, d.order(t, "k-2", "INV-2"))[0]
	settle.Charge(t, d.App, captured.Payment, payment.VerdictCaptured)
	settle.Charge(t, d.App, declined.Payment, payment.VerdictDeclined)
	d.SetNow(t, swept)
	require.Equal(t, 2, d.sweep(t))
	results := d.accept(t, d.order(t, "k-1", "INV-1"), d.order(t, "k-2", "INV-2"))
	require.Equal(t, OutcomeConflicting, results[0].Outcome, "never paid twice")
	require.Equal(t, captured.PaymentID, results[0].PaymentID)
	require.Equal(t, payment.StateCaptured, results[0].Payment.State)
	require.Equal(t, OutcomeAccepted, results[1].Outcome, "what was declined can be paid again")
	require.NotEqual(t, declined.PaymentID, results[1].PaymentID)
}

func TestI12_TheWindowIsMeasuredByTheDatabasesClockFromTheKeysOwnTime(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	d.rules.KeyWindow = idempotency.WindowMin
	for name, c := range map[string]struct {
		ago  time.Duration
		want Outcome
	}{
		"of now":                   {0, OutcomeAccepted},
		"just within the window":   {idempotency.WindowMin - time.Minute, OutcomeAccepted},
		"just outside":             {idempotency.WindowMin + time.Minute, OutcomeExpired},
		"of last year":             {365 * 24 * time.Hour, OutcomeExpired},
		"a clock that is ahead":    {-idempotency.ClockMargin / 2, OutcomeAccepted},
		"a coincidence, far ahead": {-365 * 24 * time.Hour, OutcomeAccepted},
	} {
		require.Equal(t, c.want, d.accept(t, d.order(t, newKey(t, c.ago), name))[0].Outcome, name)
	}
	d.rules.KeyWindow = 0
	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, newKey(t, 2*idempotency.WindowMin), "INV-1"))[0].Outcome, "72 hours unless it is said")
}

// The client's clock is half an hour ahead. Without the margin its key would be gone,
// and look young, for that half hour.
func TestI12_AKeyOfAClockThatIsAheadIsNeverTakenForANewOne(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	key := newKey(t, -idempotency.ClockMargin/2)
	first := d.accept(t, d.order(t, key, "INV-1"))[0]
	settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	for after := -10 * time.Minute; after <= idempotency.ClockMargin+20*time.Minute; after += 10 * time.Minute {
		d.SetNow(t, idempotency.WindowDefault+after)
		d.sweep(t)
		require.Contains(t, []Outcome{OutcomeReplayed, OutcomeExpired}, d.accept(t, d.order(t, key, "INV-1"))[0].Outcome, after)
	}
	require.Zero(t, d.rows(t)["idempotency_key"])
}

func TestI12_RepeatsOfAnExpiredKeyInOneTransactionAreAllExpired(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	key := newKey(t, 2*idempotency.WindowDefault)
	for _, result := range d.accept(t, d.order(t, key, "INV-1"), d.order(t, key, "INV-1"), d.order(t, key, "INV-2")) {
		require.Equal(t, Result{Outcome: OutcomeExpired}, result)
	}
	require.Equal(t, stored(0, 0), d.rows(t))
}

// sweptTx sweeps between the two statements of the first batch.
type sweptTx struct {
	pgx.Tx
	once  *sync.Once
	sweep func()
}

func (tx sweptTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	tx.once.Do(func() {
		first := b.QueuedQueries[0]
		if _, err := tx.Exec(ctx, first.SQL, first.Arguments...); err == nil {
			b.QueuedQueries = b.QueuedQueries[1:]
		}
		tx.sweep()
	})
	return tx.Tx.SendBatch(ctx, b)
}

// The insert meets a stored key; before anyone reads what it stands for, it is swept.
func TestI12_AKeyThatIsSweptBetweenTwoStatementsIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1")
	first := d.accept(t, request)[0]
	settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	d.SetNow(t, swept)
	err := pgx.BeginFunc(t.Context(), d.App, func(tx pgx.Tx) error {
		between := sweptTx{tx, &sync.Once{}, func() { require.Equal(t, 1, d.sweep(t)) }}
		_, err := d.rules.Accept(t.Context(), between, []Request{request})
		return err
	})
	require.ErrorIs(t, err, idempotency.ErrKeyVanished, "which a committer answers by another try")
	again, err := d.commit(t).Accept(t.Context(), request)
	require.NoError(t, err)
	require.Equal(t, OutcomeAccepted, again.Outcome)
}

// A sweep holds the key while a late repeat of its request comes.
func TestI12_ARepeatWaitsForTheSweepThatTakesItsKey(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	request := d.order(t, "k-1", "INV-1")
	first := d.accept(t, request)[0]
	settle.Charge(t, d.App, first.Payment, payment.VerdictDeclined)
	d.SetNow(t, swept)
	c := d.commit(t)
	sweep, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = sweep.Rollback(context.Background()) }()
	_, err = sweep.Exec(t.Context(), "DELETE FROM idempotency_key")
	require.NoError(t, err)
	repeat := all(t, patiently(c), request)
	d.awaitLockWait(t)
	require.NoError(t, sweep.Commit(t.Context()))
	a := <-repeat
	require.NoError(t, a.err)
	require.Equal(t, OutcomeAccepted, a.result.Outcome)
	require.NotEqual(t, first.PaymentID, a.result.PaymentID)
}
