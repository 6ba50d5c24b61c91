package outcome_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/casework"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

var refunds = provider.Capabilities{Refunds: true, Voids: true}

func named(object string) change {
	return func(o *outcome.Outcome) { o.Learned.ProviderObjectID = object }
}

// declined is a payment that failed after one attempt.
func (d *desk) declined(options ...fixture.Option) operation.NewPayment {
	d.t.Helper()
	p, a := d.claimed(options...)
	d.apply(answer(a, payment.VerdictDeclined, because("insufficient-funds")))
	return p
}

// cases are all cases of a payment.
func (d *desk) cases(p operation.NewPayment) []casework.Case {
	d.t.Helper()
	found, err := casework.List(d.t.Context(), d.pool, casework.Filter{Closed: true, PaymentID: p.PaymentID})
	require.NoError(d.t, err)
	return found
}

// onlyCase is the one case of a payment, with its history.
func (d *desk) onlyCase(p operation.NewPayment) casework.Detail {
	d.t.Helper()
	found := d.cases(p)
	require.Len(d.t, found, 1)
	detail, err := casework.Get(d.t.Context(), d.pool, found[0].ID)
	require.NoError(d.t, err)
	return detail
}

// carryOut lets every due case take its next step.
func (d *desk) carryOut(can provider.Capabilities) []casework.Case {
	d.t.Helper()
	due, err := casework.TakeDue(d.t.Context(), d.pool, []string{fixture.Account}, 100, lease)
	require.NoError(d.t, err)
	var after []casework.Case
	for _, c := range due {
		carried, err := within(d, func(ctx context.Context, tx pgx.Tx) (casework.Case, error) {
			return publisher.CarryOut(ctx, tx, c, can)
		})
		require.NoError(d.t, err)
		after = append(after, carried)
	}
	return after
}

// compensation claims the operation that gives back the money of a payment's case.
func (d *desk) compensation() operation.Attempt {
	d.t.Helper()
	attempts, err := within(d, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) { return claim.ClaimDue(ctx, tx, 10) })
	require.NoError(d.t, err)
	require.Len(d.t, attempts, 1)
	return attempts[0]
}

func (d *desk) decide(c casework.Detail, action casework.Action) error {
	d.t.Helper()
	_, err := casework.Decide(d.t.Context(), d.pool, c.ID, casework.Decision{Action: action, Version: c.Version, Who: "ada", Reason: "seen there"})
	return err
}

// booked requires what a merchant is owed, and that nothing stands in suspense.
func (d *desk) booked(owed int64) {
	d.t.Helper()
	balances, err := ledger.Balances(d.t.Context(), d.pool)
	require.NoError(d.t, err)
	var sum, suspense, clearing int64
	for _, b := range balances {
		sum += b.Minor
		switch b.Account {
		case ledger.SuspenseAccount(fixture.Account):
			suspense += b.Minor
		case ledger.ClearingAccount(fixture.Account):
			clearing += b.Minor
		}
	}
	require.Zero(d.t, sum)
	require.Zero(d.t, suspense, "nothing stands in suspense")
	require.Equal(d.t, owed, clearing)
}

func TestU7_LateMoneyIsAdoptedWhileTheInvoiceIsFree(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	reference := func(p *operation.NewPayment) { p.ExternalReference = new("PO-7") }
	p := d.declined(reference)
	var answered, now []byte
	stored := "SELECT body FROM idempotency_key WHERE resource_id = $1"
	require.NoError(t, d.pool.QueryRow(t.Context(), stored, p.PaymentID).Scan(&answered))
	applied := d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_1")))
	c := d.onlyCase(p)
	require.Equal(t, applied.CaseID, c.ID)
	require.Equal(t, casework.PlanAdopt, c.Plan)
	require.Equal(t, 2, d.count("SELECT count(*) FROM ledger_entry WHERE purpose = 'suspense' AND abs(amount_minor) = 1000"))

	after := d.carryOut(refunds)
	require.Equal(t, casework.Adopted, after[0].Resolution)
	d.stands(p, payment.OperationSucceeded, "")
	require.Equal(t, new("ch_1"), d.row(p).ProviderObjectID)
	require.Equal(t, []event.Type{event.PaymentFailed, event.PaymentCaptured}, d.told(p), "the correction is told")
	require.Equal(t, 2, d.count("SELECT (SELECT count(*) FROM invoice_identity) + (SELECT count(*) FROM reference_identity)"), "held again")
	require.NoError(t, d.pool.QueryRow(t.Context(), stored, p.PaymentID).Scan(&now))
	require.Equal(t, string(answered), string(now), "P6: a stored answer is not rewritten")
	d.booked(1000)

	c = d.onlyCase(p)
	require.Equal(t, []string{"webhook", "adopted"}, []string{c.History[0].Reason, c.History[1].Reason})
	require.Equal(t, casework.Machine, c.History[1].By)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
	require.Len(t, d.cases(p), 1)
	d.booked(1000)
}

func TestU7_LateMoneyGoesBackWhenAnotherLivePaymentHoldsTheInvoice(t *testing.T) {
	t.Parallel()
	for name, hold := range map[string]func(operation.NewPayment) []fixture.Option{
		"invoice": func(p operation.NewPayment) []fixture.Option {
			return []fixture.Option{fixture.WithInvoice(p.MerchantID, p.InvoiceID)}
		},
		"reference": func(p operation.NewPayment) []fixture.Option {
			return []fixture.Option{fixture.WithInvoice(p.MerchantID, "another"), func(n *operation.NewPayment) { n.ExternalReference = new("PO-7") }}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			p := d.declined(func(p *operation.NewPayment) { p.ExternalReference = new("PO-7") })
			d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")))
			second := fixture.Accept(t, d.pool, hold(p)...)
			held := d.count("SELECT (SELECT count(*) FROM invoice_identity) + (SELECT count(*) FROM reference_identity)")

			carried := d.carryOut(refunds)
			require.Equal(t, casework.Working, carried[0].State)
			require.Equal(t, "invoice-taken", d.onlyCase(p).History[1].Reason)
			require.Equal(t, held, d.count("SELECT (SELECT count(*) FROM invoice_identity) + (SELECT count(*) FROM reference_identity)"))
			a := d.compensation()
			require.Equal(t, payment.KindRefund, a.Kind)
			require.Equal(t, new("ch_1"), a.ProviderObjectID)
			before, events := d.row(p), d.told(p)
			d.apply(answer(a, payment.VerdictCaptured, named("re_1")))
			require.Equal(t, casework.Refunded, d.onlyCase(p).Resolution)
			after := d.row(p)
			after.Now = before.Now
			require.Equal(t, before, after, "a case's refund touches nothing of the payment")
			require.Equal(t, events, d.told(p))
			require.Equal(t, payment.StateCreated, fixture.State(t, d.pool, second))
			d.booked(0)
		})
	}
}

func TestU7_AProviderThatCannotRefundVoidsAndOneThatCanDoNeitherNeedsAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictCaptured, named("ch_1")))
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_2")))
	d.carryOut(provider.Capabilities{})
	c := d.onlyCase(p)
	require.Equal(t, operation.Person, c.WaitsFor)
	require.Equal(t, "cannot-give-back", c.History[1].Reason)

	require.NoError(t, d.decide(c, casework.Refund))
	d.carryOut(provider.Capabilities{Voids: true})
	void := d.compensation()
	require.Equal(t, payment.KindVoid, void.Kind)
	d.apply(answer(void, payment.VerdictCaptured))
	require.Equal(t, casework.Voided, d.onlyCase(p).Resolution)
	d.stands(p, payment.OperationSucceeded, "")
	d.booked(1000)
}

func TestU7_OnlyTheSecondChargeIsGivenBack(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, a := d.claimed()
	d.apply(answer(a, payment.VerdictUnclear))
	several := d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1"), because(provider.ReasonSeveralCharges))
	several.Others = []provider.Movement{
		{ObjectID: "ch_2", Amount: p.Amount, Verdict: payment.VerdictCaptured}, {ObjectID: "ch_3", Amount: p.Amount, Verdict: payment.VerdictCaptured},
	}
	d.apply(several)
	d.stands(p, payment.OperationSucceeded, "")
	require.Equal(t, new("ch_1"), d.row(p).ProviderObjectID)
	found := d.cases(p)
	require.Equal(t, []string{"ch_2", "ch_3"}, []string{found[0].ProviderObjectID, found[1].ProviderObjectID})
	d.carryOut(refunds)
	for _, want := range found {
		require.Equal(t, casework.CapturedTwice, want.Kind)
		require.Equal(t, 1, d.count("SELECT count(*) FROM operation WHERE kind = 'refund' AND target_object_id = $1", want.ProviderObjectID))
	}
	require.Zero(t, d.count("SELECT count(*) FROM operation WHERE target_object_id = 'ch_1'"))
	require.Zero(t, d.count("SELECT refunded_minor FROM payment WHERE id = $1", p.PaymentID), "no refund of the payment")
}

func TestU7_TheSameWordTenTimesIsOneCase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.declined()
	var told []outcome.Outcome
	for range 5 {
		told = append(told, d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_1")))
	}
	d.apply(told...)
	d.apply(told...)
	require.Len(t, d.cases(p), 1)
	require.Equal(t, 2, d.count("SELECT count(*) FROM ledger_entry"))
	require.Equal(t, 11, d.evidence(p))
}

func TestU7_AnUnnamedWordAndANamedOneAreOneCase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.declined()
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured))
	require.Equal(t, casework.PlanPerson, d.onlyCase(p).Plan, "nothing could be given back")
	require.ErrorIs(t, d.decide(d.onlyCase(p), casework.Refund), casework.ErrDoesNotFit)
	d.apply(d.word(p, evidence.Inquiry, payment.VerdictCaptured, named("ch_1")), d.word(p, evidence.Webhook, payment.VerdictCaptured))
	c := d.onlyCase(p)
	require.Equal(t, "ch_1", c.ProviderObjectID)
	require.Equal(t, casework.PlanAdopt, c.Plan)
	d.carryOut(refunds)
	d.booked(1000)
}

func TestU7_WhatWasCanceledIsNotAdoptedByTheMachine(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := fixture.Accept(t, d.pool)
	d.cancel(p)
	d.apply(d.word(p, evidence.Webhook, payment.VerdictCaptured, named("ch_1")))
	require.Equal(t, casework.PlanRefund, d.onlyCase(p).Plan)
	d.carryOut(refunds)
	d.apply(answer(d.compensation(), payment.VerdictCaptured))
	d.stands(p, payment.OperationCanceled, "")
	d.booked(0)
}

// cancel cancels a payment that was never sent.
func (d *desk) cancel(p operation.NewPayment) {
	d.t.Helper()
	_, err := within(d, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		rows, err := operation.Lock(ctx, tx, []uuid.UUID{p.OperationID})
		if err != nil {
			return false, err
		}
		var batch pgx.Batch
		operation.QueueMoves(&batch, []operation.Move{{From: rows[0], To: operation.Standing{
			State: payment.OperationCanceled, Fence: 1, WaitsFor: operation.Machine,
		}}})
		return true, tx.SendBatch(ctx, &batch).Close()
	})
	require.NoError(d.t, err)
}
