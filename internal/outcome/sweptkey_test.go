package outcome_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/pkg/payment"
)

// sweep moves the clock to where the keys of now are old enough, and removes them.
func (d *desk) sweep() (swept int) {
	d.t.Helper()
	return d.sweepAfter(0)
}

// sweepAfter is sweep some time later.
func (d *desk) sweepAfter(more time.Duration) (swept int) {
	d.t.Helper()
	d.SetNow(d.t, idempotency.WindowDefault+idempotency.ClockMargin+time.Minute+more)
	swept, err := idempotency.Sweeper{Pool: d.pool, Window: idempotency.WindowDefault, Log: zap.NewNop()}.Sweep(d.t.Context())
	require.NoError(d.t, err)
	return swept
}

func TestI12_LateMoneyIsAdoptedWithoutAKeyAsWithOne(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.declined()
	require.Equal(t, 1, d.sweep())
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_1")))
	require.Zero(t, d.sweep(), "with an open case, and nothing to remove")
	require.Equal(t, casework.Adopted, d.carryOut(refunds)[0].Resolution)
	d.stands(p, payment.OperationSucceeded, "")
	d.booked(1000)
	require.Zero(t, d.count("SELECT count(*) FROM idempotency_key"), "an answer is stored under no key that is not there")
}

func TestI12_TheKeyOfARefundGoesADayAfterTheRefundNotBefore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.charged()
	refund := d.refund(p, "R-1", 400)
	require.Equal(t, 1, d.sweep(), "the payment's")
	attempt := d.claimAgain(refund)
	require.Zero(t, d.sweep())
	d.apply(answer(attempt, payment.VerdictCaptured, named("re_1")))
	require.Equal(t, 1, d.count("SELECT count(*) FROM idempotency_key WHERE status = 201"))
	require.Zero(t, d.sweep(), "who repeats the refund hears how it ended")
	require.Equal(t, 1, d.sweepAfter(idempotency.AnswerMin))
}
