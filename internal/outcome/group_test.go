package outcome_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

func TestSeveralOutcomesOfOneOperationAreAppliedInTheirOrder(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	applied, err := d.tryToApply(
		answer(a, payment.VerdictUnclear), d.word(p, evidence.Inquiry, payment.VerdictPending),
		d.word(p, evidence.Webhook, payment.VerdictCaptured), d.word(p, evidence.Inquiry, payment.VerdictCaptured),
	)
	require.NoError(t, err)
	var path []payment.OperationState
	for _, r := range applied {
		path = append(path, r.From, r.To)
	}
	require.Equal(t, []payment.OperationState{
		payment.OperationProcessing, payment.OperationUnknown, payment.OperationUnknown, payment.OperationPending,
		payment.OperationPending, payment.OperationSucceeded, payment.OperationSucceeded, payment.OperationSucceeded,
	}, path)
	require.Equal(t, []event.Type{event.PaymentUnknown, event.PaymentPending, event.PaymentCaptured}, d.told(p))
	require.Equal(t, 1, d.postings(p))
	require.Equal(t, 4, d.evidence(p))
}

func TestAContradictionWithinOneCallIsSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	applied := d.apply(answer(a, payment.VerdictDeclined), d.word(p, evidence.Webhook, payment.VerdictCaptured))
	require.True(t, applied.Contradiction)
	d.stands(p, payment.OperationFailed, outcome.ReasonDeclined)
}

func TestW7_FiftyOperationsInOneCall(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	verdicts := []payment.Verdict{
		payment.VerdictCaptured, payment.VerdictDeclined, payment.VerdictUnclear, payment.VerdictPending, payment.VerdictNotTaken,
	}
	var outcomes []outcome.Outcome
	var payments []operation.NewPayment
	for i := range 50 {
		p, a := d.claimed()
		payments = append(payments, p)
		outcomes = append(outcomes, answer(a, verdicts[i%len(verdicts)]))
	}
	applied, err := d.tryToApply(outcomes...)
	require.NoError(t, err)
	for i, want := range []payment.OperationState{
		payment.OperationSucceeded, payment.OperationFailed, payment.OperationUnknown, payment.OperationPending, payment.OperationCreated,
	} {
		for j := i; j < len(applied); j += len(verdicts) {
			require.Equal(t, outcome.Applied{
				OperationID: payments[j].OperationID, From: payment.OperationProcessing, To: want, Fence: 1, WaitsFor: operation.Machine,
			}, applied[j], "in the order of the outcomes")
		}
	}
	require.Equal(t, 20, d.count("SELECT count(*) FROM ledger_entry"))
	require.Equal(t, 20, d.count("SELECT count(*) FROM idempotency_key WHERE status = 201"))
	require.Equal(t, 40, d.count("SELECT count(*) FROM outbox WHERE topic = 'payonce.events'"))
	require.Equal(t, 40, d.count("SELECT count(*) FROM invoice_identity"))
}

// Two appliers tell of the same operations in opposite order, declines among them
// that release identities: without one lock order they would wait in a circle.
func TestAppliersInOppositeOrderDoNotMeetInACircle(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	verdicts := []payment.Verdict{payment.VerdictUnclear, payment.VerdictDeclined, payment.VerdictCaptured}
	var outcomes []outcome.Outcome
	for i := range 30 {
		_, a := d.claimed()
		outcomes = append(outcomes, answer(a, verdicts[i%len(verdicts)]))
	}
	backwards := slices.Clone(outcomes)
	slices.Reverse(backwards)
	var appliers errgroup.Group
	for _, group := range [][]outcome.Outcome{outcomes, backwards, outcomes[5:25], backwards[3:20]} {
		appliers.Go(func() error {
			for range 10 {
				if _, err := d.tryToApply(group...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, appliers.Wait())
	require.Equal(t, 20, d.count("SELECT count(*) FROM ledger_entry"), "ten captured, each booked once")
	require.Equal(t, 30, d.count("SELECT count(*) FROM outbox WHERE topic = 'payonce.events'"), "and each told once")
}

// The races that a lease lost by a moment makes: the worker's answer, the
// takeover and an inquiry at once. Whoever is first, one thing is true in the end.
func TestW2_AnswerTakeoverAndInquiryAtOnceAgreeInTheEnd(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var answers, inquiries []outcome.Outcome
	for range 20 {
		p, a := d.claimed()
		answers = append(answers, answer(a, payment.VerdictCaptured))
		inquiries = append(inquiries, d.word(p, evidence.Inquiry, payment.VerdictCaptured))
	}
	d.SetNow(t, lease+time.Second)
	var all errgroup.Group
	for i := range answers {
		all.Go(func() error { _, err := d.tryToApply(answers[i]); return err })
		all.Go(func() error { _, err := d.tryToApply(inquiries[len(inquiries)-1-i]); return err })
	}
	all.Go(func() error { d.takeOver(); return nil })
	require.NoError(t, all.Wait())
	require.Equal(t, 20, d.count("SELECT count(*) FROM operation WHERE state = 'succeeded'"))
	require.Equal(t, 40, d.count("SELECT count(*) FROM ledger_entry"))
	require.Equal(t, 40, d.count("SELECT count(*) FROM evidence"))
}

func TestAnOutcomeOfNothingIsAnErrorAndTeachesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	nobody := answer(a, payment.VerdictCaptured)
	nobody.PaymentID, nobody.Learned.OperationID = uuid.New(), uuid.New()
	_, err := d.tryToApply(answer(a, payment.VerdictCaptured), nobody)
	require.ErrorIs(t, err, outcome.ErrNoSuchOperation)
	require.ErrorContains(t, err, nobody.Learned.OperationID.String())

	never := answer(a, payment.VerdictDeclined)
	never.Learned.Fence = 7
	_, err = d.tryToApply(answer(a, payment.VerdictCaptured), never)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "evidence_operation_id_fence_fkey", refused.ConstraintName, "an answer to an attempt that was never made")

	d.stands(p, payment.OperationProcessing, "")
	require.Zero(t, d.evidence(p), "all or nothing")
	applied, err := d.tryToApply()
	require.NoError(t, err)
	require.Empty(t, applied)
}

// The applier puts outcomes into groups; one that cannot be applied, or has to
// wait for a row, fails or waits alone.
func TestTheApplierKeepsABadOutcomeFromTheOthers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	applier := outcome.NewApplier(d.App, publisher)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		applier.Run(ctx)
	}()
	holder, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) }()

	held, first := d.claimed()
	var good []operation.NewPayment
	told := []outcome.Outcome{answer(first, payment.VerdictCaptured)}
	for range 30 {
		p, a := d.claimed()
		good, told = append(good, p), append(told, answer(a, payment.VerdictCaptured))
	}
	bad := answer(first, payment.VerdictCaptured)
	// Of no payment that is there: else it could wait for the first one's key.
	bad.PaymentID, bad.Learned.OperationID = uuid.New(), uuid.New()
	_, err = operation.Lock(t.Context(), holder, []uuid.UUID{held.OperationID})
	require.NoError(t, err)

	errs := make([]error, len(told))
	var callers errgroup.Group
	callers.Go(func() error {
		if _, err := applier.Do(t.Context(), bad); !errors.Is(err, outcome.ErrNoSuchOperation) {
			return errors.New("the bad outcome was accepted")
		}
		return nil
	})
	for i, o := range told {
		callers.Go(func() error {
			_, errs[i] = applier.Do(t.Context(), o)
			return nil
		})
	}
	require.NoError(t, callers.Wait())
	require.True(t, postgres.IsLockConflict(errs[0]), "%v", errs[0])
	for i, p := range good {
		require.NoError(t, errs[i+1])
		require.Equal(t, payment.StateCaptured, fixture.State(t, d.App, p))
	}
	require.NoError(t, holder.Rollback(t.Context()))
	_, err = applier.Do(t.Context(), told[0])
	require.NoError(t, err)
	stop()
	<-ended
}
