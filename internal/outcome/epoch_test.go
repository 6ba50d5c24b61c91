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

// The claim was committed, sent and lost, and its worker lives on. What it tells has the
// fence of an attempt that nobody remembers.
func TestP1_U5_AWorkerWhoseClaimWasLostIsHeardWithGoodNewsOnly(t *testing.T) {
	t.Parallel()
	for _, resent := range []bool{false, true} {
		t.Run(map[bool]string{false: "while it is asked about", true: "while it is resent"}[resent], func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := fixture.Accept(t, d.pool)
			lost := operation.Attempt{OperationID: p.OperationID, PaymentID: p.PaymentID, Amount: p.Amount, Fence: 1, ClaimedAt: d.row(p).Now}
			require.Equal(t, 1, d.bumpAll(d.epoch()))
			if resent {
				sentAgain(d, p)
			}
			before := d.row(p)
			covering := func(o *outcome.Outcome) { o.Learned.CoversEarlier = true }
			d.apply(answer(lost, payment.VerdictDeclined, covering, because("insufficient-funds")))
			d.apply(answer(lost, payment.VerdictUnclear, notSent))
			after := d.row(p)
			require.Equal(t, before.Standing, after.Standing, "it does not know of what else was lost")
			require.Equal(t, 2, d.count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND verdict = 'unclear' AND NOT covers_earlier", p.OperationID))

			d.apply(answer(lost, payment.VerdictCaptured, named("ch_1")))
			d.stands(p, payment.OperationSucceeded, "")
			require.Greater(t, d.row(p).Fence, before.Fence)
			require.Equal(t, 1, d.postings(p))
		})
	}
}

// sentAgain claims a resend of what was lost. Nobody remembers its account here.
func sentAgain(d *desk, p operation.NewPayment) {
	d.t.Helper()
	_, err := d.pool.Exec(d.t.Context(), `WITH sent AS (
		INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
		SELECT id, fence + 1, 'worker-2', 'recipe/1', payonce_now(), payonce_now() + interval '1 min', payonce_now() + interval '1 min'
		FROM operation WHERE id = $1)
		UPDATE operation SET fence = fence + 1, lease_until = payonce_now() + interval '1 min', next_check_at = NULL WHERE id = $1`, p.OperationID)
	require.NoError(d.t, err)
}

// A reconciler that was not stopped takes a case's next step between the bump's row and
// the moment that the bump comes to the case.
func TestP1_FromTheBumpOnNoReconcilerOrdersACasesRefund(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*desk) operation.NewPayment{
		"refund": func(d *desk) operation.NewPayment {
			p := d.charged()
			d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_2")))
			return p
		},
		"adoption": func(d *desk) operation.NewPayment {
			p := d.declined()
			d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
			return p
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := begin(d)
			require.Equal(t, operation.Machine, d.onlyCase(p).WaitsFor)
			e := d.epoch()
			require.Len(t, d.carryOut(refunds), 1)
			c := d.onlyCase(p)
			d.leftToAPerson(c)
			require.Equal(t, outcome.ReasonCommitsLost, c.History[len(c.History)-1].Reason)
			d.bumpAll(e)
			require.Equal(t, c.Version, d.onlyCase(p).Version, "told already")
		})
	}
}

// Who decides about a case has to know that its refund may be lost.
func TestP1_ACaseThatWaitsForAPersonTellsOfTheBump(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, of(999, "TRY"), named("ch_1")))
	before := d.onlyCase(p)
	require.Equal(t, operation.Person, before.WaitsFor)
	e := d.epoch()
	d.bumpAll(e)
	d.bumpAll(e)
	after := d.onlyCase(p)
	require.Equal(t, outcome.ReasonCommitsLost, after.History[len(after.History)-1].Reason)
	require.Len(t, after.History, 2, "once")
	require.Equal(t, before.Plan, after.Plan)
	require.Error(t, d.decide(before, casework.Refund), "what was seen before the bump is not decided about")
}
