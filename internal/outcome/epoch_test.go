package outcome_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// epoch says that commits were lost, and no more.
func (d *desk) epoch() operation.Epoch {
	d.t.Helper()
	e, err := operation.BeginEpoch(d.t.Context(), d.pool, operation.Epoch{ID: uuid.New(), InFlight: time.Minute, Who: "ada", Reason: "restored"})
	require.NoError(d.t, err)
	return e
}

// bumpAll records an epoch and returns at how many operations.
func (d *desk) bumpAll(e operation.Epoch) (bumped int) {
	d.t.Helper()
	require.NoError(d.t, publisher.BumpAll(d.t.Context(), d.pool, e, func(done int) { bumped = done }))
	return bumped
}

func TestP1_U3_FromTheBumpOnNothingIsSentOrExpiredBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	created := fixture.Accept(t, d.pool, fixture.ChargeBefore(time.Now().Add(time.Hour)))
	unknown, attempt := d.claimed()
	d.apply(answer(attempt, payment.VerdictUnclear))
	ordered, err := operation.OrderResend(t.Context(), d.pool, operation.Stand{OperationID: unknown.OperationID, Fence: attempt.Fence})
	require.NoError(t, err)
	require.True(t, ordered)

	e := d.epoch()
	d.SetNow(t, operation.MessageGrace)
	attempts, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) {
		return claim.Claim(ctx, tx, []uuid.UUID{created.OperationID})
	})
	require.NoError(t, err)
	require.Empty(t, attempts, "not by its message")
	attempts, err = within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) { return claim.ClaimDue(ctx, tx, 10) })
	require.NoError(t, err)
	require.Empty(t, attempts, "nor as what is due or ordered")
	d.SetNow(t, 2*time.Hour)
	expired, doorOpen := d.expire()
	require.Empty(t, expired)
	require.Empty(t, doorOpen)

	younger, _ := d.claimed()
	d.stands(younger, payment.OperationProcessing, "")
	require.Equal(t, 2, d.bumpAll(e))
	d.stands(created, payment.OperationUnknown, outcome.ReasonCommitsLost)
	require.Equal(t, []event.Type{event.PaymentUnknown}, d.told(created))
	d.stands(younger, payment.OperationProcessing, "")
}

func TestP1_ABumpGoesOnWhereItStoppedAndLeavesWhatIsFinal(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	done, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured))
	processing, held := d.claimed()
	pending, a := d.claimed()
	d.apply(answer(a, payment.VerdictPending, because("requires_action")))
	person, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))

	e := d.epoch()
	ids := []uuid.UUID{done.OperationID, processing.OperationID}
	applied, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]outcome.Applied, error) {
		return publisher.Bump(ctx, tx, e, ids)
	})
	require.NoError(t, err)
	require.Len(t, applied, 1, "and then it was stopped")
	counts, err := operation.CountOpen(t.Context(), d.pool, e.ID)
	require.NoError(t, err)
	require.Equal(t, []operation.OpenCount{
		{ProviderAccount: fixture.Account, State: payment.OperationPending, Operations: 1},
		{ProviderAccount: fixture.Account, State: payment.OperationUnknown, Operations: 1},
	}, counts)
	require.Equal(t, 2, d.bumpAll(e))
	require.Zero(t, d.bumpAll(e))

	d.stands(done, payment.OperationSucceeded, "")
	d.stands(processing, payment.OperationUnknown, outcome.ReasonCommitsLost)
	d.stands(pending, payment.OperationPending, "requires_action")
	d.stands(person, payment.OperationUnknown, outcome.ReasonAmountMismatch)
	require.Equal(t, operation.Person, d.row(person).WaitsFor)
	require.Equal(t, 3, d.count(`SELECT count(*) FROM attempt a JOIN operation o ON o.id = a.operation_id
		WHERE a.epoch_id = $1 AND a.fence = o.fence AND a.claimed_at = o.created_at`, e.ID))

	// The worker that was at it comes too late for everything but good news.
	d.apply(answer(held, payment.VerdictDeclined))
	d.stands(processing, payment.OperationUnknown, outcome.ReasonCommitsLost)
	d.apply(answer(held, payment.VerdictCaptured))
	d.stands(processing, payment.OperationSucceeded, "")
}

// An accept reads the clock, the bump begins and passes the payment's id, and then the
// accept commits: left out, its payment could never be sent.
func TestP2_AnAcceptThatCommitsDuringTheBumpIsNotLeftOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := operation.NewPayment{
		PaymentID: uuid.New(), OperationID: uuid.New(), MerchantID: fixture.Merchant(t, d.pool), InvoiceID: "INV-1", PaymentType: "invoice",
		Amount: fixture.Accept(t, d.pool).Amount, ProviderAccount: fixture.Account,
	}
	tx, err := d.pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = operation.Create(t.Context(), tx, []operation.NewPayment{p})
	require.NoError(t, err)

	e := d.epoch()
	passed, ended := make(chan int, 10), make(chan error, 1)
	go func() {
		ended <- publisher.BumpAll(t.Context(), d.pool, e, func(done int) { passed <- done })
	}()
	require.Equal(t, 1, <-passed)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
	d.stands(p, payment.OperationUnknown, outcome.ReasonCommitsLost)
}

func TestP1_ABumpIsRefusedWhileTheClockIsBehindWhatIsOpen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.SetNow(t, time.Hour)
	fixture.Accept(t, d.pool)
	d.SetNow(t, 0)
	_, err := operation.BeginEpoch(t.Context(), d.pool, operation.Epoch{ID: uuid.New(), InFlight: time.Minute, Who: "ada", Reason: "restored"})
	require.ErrorIs(t, err, operation.ErrClockBehind)
}

// The refund of the case may have been ordered and carried out, and be lost with all
// that was known of it.
func TestP1_ACaseThatTheMachineWouldCarryOnWaitsForAPersonAfterABump(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_2")))
	require.Equal(t, casework.PlanRefund, d.onlyCase(p).Plan)
	e := d.epoch()
	d.bumpAll(e)
	c := d.onlyCase(p)
	require.Equal(t, operation.Person, c.WaitsFor)
	require.Equal(t, casework.PlanPerson, c.Plan)
	require.Empty(t, d.carryOut(refunds))
	require.NoError(t, d.decide(c, casework.Refund))
	d.bumpAll(e)
	require.Equal(t, operation.Machine, d.onlyCase(p).WaitsFor, "decided since")
}
