package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/evidence"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/testkit/settle"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// desk is a database with payments, and payctl on it.
type desk struct {
	*testkit.Database
	t       *testing.T
	environ []string
}

func newDesk(t *testing.T) desk {
	t.Helper()
	database := testkit.NewDatabase(t)
	return desk{Database: database, t: t, environ: []string{"PAYONCE_DATABASE_URL=" + database.AppURL}}
}

// answered is a payment whose one attempt was answered like that.
func (d desk) answered(v payment.Verdict, options ...fixture.Option) operation.NewPayment {
	d.t.Helper()
	p := fixture.Accept(d.t, d.App, options...)
	settle.Charge(d.t, d.App, payment.View{
		ID: p.PaymentID, OperationID: p.OperationID, Amount: p.Amount.Decimal(), Currency: p.Amount.Currency(),
	}, v)
	return p
}

// heard is that the provider took an amount, under a name.
func (d desk) heard(p operation.NewPayment, minor int64, object string) {
	d.t.Helper()
	amount, err := money.New(minor, p.Amount.Currency())
	require.NoError(d.t, err)
	publisher := outcome.Publisher{Topic: "payonce.events", Source: fixture.Source}
	require.NoError(d.t, pgx.BeginFunc(d.t.Context(), d.App, func(tx pgx.Tx) error {
		_, err := publisher.Apply(d.t.Context(), tx, []outcome.Outcome{{PaymentID: p.PaymentID, Learned: evidence.Evidence{
			OperationID: p.OperationID, Source: evidence.Webhook, Verdict: payment.VerdictCaptured, Amount: amount, ProviderObjectID: object,
			AskedAt: time.Now(),
		}}})
		return err
	}))
}

// forPerson hands operations over, as a look does where the provider cannot be asked.
func (d desk) forPerson(payments ...operation.NewPayment) {
	d.t.Helper()
	for _, p := range payments {
		_, err := d.App.Exec(d.t.Context(), "UPDATE operation SET waits_for = 'person' WHERE id = $1", p.OperationID)
		require.NoError(d.t, err)
	}
}

func (d desk) count(sql string, args ...any) int {
	d.t.Helper()
	var n int
	require.NoError(d.t, d.App.QueryRow(d.t.Context(), sql, args...).Scan(&n))
	return n
}

// does runs a command line that must succeed and returns what it says.
func (d desk) does(line string, more ...string) string {
	d.t.Helper()
	code, out, errOut := payctl(d.t, d.environ, append(strings.Fields(line), more...)...)
	require.Equal(d.t, app.ExitOK, code, errOut)
	return out
}

// refuses runs a command line that must be refused with these words.
func (d desk) refuses(words, line string, more ...string) {
	d.t.Helper()
	code, _, errOut := payctl(d.t, d.environ, append(strings.Fields(line), more...)...)
	require.Equal(d.t, app.ExitFailed, code, errOut)
	require.Contains(d.t, errOut, words)
}

func read[Found any](d desk, line string) (found Found) {
	d.t.Helper()
	require.NoError(d.t, json.Unmarshal([]byte(d.does(line+" --output json")), &found))
	return found
}

// why is what every decision of these tests gives as its reason.
var why = []string{"--reason", "looked at their dashboard", "--by", "ada"}

func TestU6_WhatWaitsIsListedWithAgeOwnerAndTheMoneyAtRisk(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Equal(t, "nothing waits\n", d.does("unknown list"))
	first, second := d.answered(payment.VerdictUnclear), d.answered(payment.VerdictUnclear)
	pending := d.answered(payment.VerdictPending, fixture.WithAccount("sepa"))
	d.answered(payment.VerdictCaptured)
	fixture.Accept(t, d.App)
	d.forPerson(second)
	d.SetNow(t, 3*time.Hour)

	page := read[app.UnknownPage](d, "unknown list")
	require.Len(t, page.Operations, 3)
	oldest := page.Operations[0]
	require.Equal(t, []uuid.UUID{first.OperationID, first.PaymentID, first.MerchantID}, []uuid.UUID{oldest.OperationID, oldest.PaymentID, oldest.MerchantID})
	require.Equal(t, []string{"card", "charge", "10.00", "unknown", "machine"},
		[]string{oldest.Account, oldest.Kind, oldest.Amount, oldest.State, oldest.Owner})
	require.InDelta(t, 3*60*60, oldest.AgeSeconds, 120)
	require.NotNil(t, oldest.NextCheckAt)
	require.Len(t, page.Totals, 2)
	require.Equal(t, "20.00", page.Totals[0].AtRisk)
	require.Equal(t, [3]int{2, 2, 1}, [3]int{page.Totals[0].Operations, page.Totals[0].Unknown, page.Totals[0].ForPerson})
	require.Equal(t, "0.00", page.Totals[1].AtRisk, "the provider has what is pending")

	for filter, wanted := range map[string]uuid.UUID{
		"--owner person": second.OperationID, "--account sepa": pending.OperationID, "--owner machine --account card": first.OperationID,
	} {
		found := read[app.UnknownPage](d, "unknown list --older-than 2h "+filter)
		require.Len(t, found.Operations, 1, filter)
		require.Equal(t, wanted, found.Operations[0].OperationID, filter)
	}
	require.Empty(t, read[app.UnknownPage](d, "unknown list --older-than 4h").Operations)
	start := read[app.UnknownPage](d, "unknown list --limit 2")
	require.Len(t, start.Operations, 2)
	rest := read[app.UnknownPage](d, "unknown list --limit 2 --after "+start.Next)
	require.Len(t, rest.Operations, 1)
	require.Equal(t, pending.OperationID, rest.Operations[0].OperationID)
	require.Empty(t, rest.Next)

	text := d.does("unknown list --limit 1")
	require.Contains(t, text, "card: 20.00 TRY at risk in 2 unknown; 2 waiting in all, 1 of them for a person, the oldest for 3h0")
	require.Contains(t, text, "there is more: --after "+first.OperationID.String())
}

func TestU6_APersonsWordThatNothingIsHeldFailsWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.answered(payment.VerdictUnclear)
	resolve := "unknown resolve " + p.OperationID.String() + " --as failed --nothing-is-held"
	d.refuses("is looked after by the machine", resolve, why...)
	d.forPerson(p)
	d.refuses("an attempt may be under way until", resolve, append(why, "--execute")...)
	require.Zero(t, d.count("SELECT count(*) FROM evidence WHERE source = 'operator'"), "what is refused leaves nothing")

	d.SetNow(t, 2*time.Minute)
	text := d.does(resolve, why...)
	require.Contains(t, text, "would let payment "+p.PaymentID.String()+" over 10.00 TRY fail")
	require.Contains(t, text, rehearsed)
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.App, p))
	require.Zero(t, d.count("SELECT count(*) FROM operator_statement"))

	require.Contains(t, d.does(resolve, append(why, "--execute")...), "done: ")
	require.Equal(t, payment.StateFailed, fixture.State(t, d.App, p))
	require.Zero(t, d.count("SELECT count(*) FROM invoice_identity"), "its invoice can be paid again")
	require.Equal(t, 1, d.count("SELECT count(*) FROM evidence e JOIN operator_statement s ON s.hash = e.hash "+
		"WHERE e.source = 'operator' AND e.verdict = 'not_taken' AND s.who = 'ada' AND s.reason = 'looked at their dashboard'"))
	require.Equal(t, 1, d.count("SELECT count(*) FROM payment_history WHERE event_type = 'payonce.PaymentFailed.v1'"))
	d.refuses("is failed already", resolve, why...)
}

func TestP3_APersonsWordSettlesNothingThatEvidenceContradicts(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	mismatched := d.answered(payment.VerdictUnclear)
	d.heard(mismatched, 999, "ch_1")
	created := fixture.Accept(t, d.App)
	handed, err := operation.HandToPerson(t.Context(), d.App, operation.Stand{OperationID: created.OperationID}, "door-open")
	require.NoError(t, err)
	require.True(t, handed)
	d.SetNow(t, 2*time.Minute)
	d.refuses("evidence says that the provider holds it", "unknown resolve "+mismatched.OperationID.String()+" --as failed --nothing-is-held", why...)
	d.refuses("10.00 TRY was asked for, not 9.99 TRY", "unknown resolve "+mismatched.OperationID.String()+" --as captured --object ch_1 --amount 9.99", why...)
	d.refuses("it waits to be sent", "unknown resolve "+created.OperationID.String()+" --as failed --nothing-is-held", why...)
	d.refuses("there is none", "unknown resolve "+uuid.NewString()+" --as failed --nothing-is-held", why...)
}

func TestU6_APersonsWordOfEqualMoneyCapturesWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.answered(payment.VerdictUnclear)
	d.forPerson(p)
	line := "unknown resolve " + p.OperationID.String() + " --as captured --object ch_7 --execute"
	d.refuses("the amount", line+" --amount 10.001", why...)
	decided := read[app.Decided](d, line+" --amount 10 --reason seen --by ada")
	require.Equal(t, []string{"unknown", "succeeded"}, []string{decided.From, decided.To})
	require.True(t, decided.Executed)
	require.Equal(t, payment.StateCaptured, fixture.State(t, d.App, p))
	require.Equal(t, 1, d.count("SELECT count(*) FROM operation WHERE provider_object_id = 'ch_7'"))
	require.Equal(t, 2, d.count("SELECT count(*) FROM ledger_entry"))
}

func TestU6_WhatWaitsForAPersonIsLookedAtByTheMachineOnRequest(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p, created := d.answered(payment.VerdictUnclear), fixture.Accept(t, d.App)
	_, err := operation.HandToPerson(t.Context(), d.App, operation.Stand{OperationID: p.OperationID, Fence: 1}, "no-inquiry")
	require.NoError(t, err)
	due := func() int {
		return d.count("SELECT count(*) FROM operation WHERE id = $1 AND waits_for = 'machine' AND next_check_at <= payonce_now()", p.OperationID)
	}
	require.Contains(t, d.does("unknown check "+p.OperationID.String()), rehearsed)
	require.Zero(t, due())
	d.does("unknown check --execute " + p.OperationID.String())
	require.Equal(t, 1, due())
	d.refuses("is created", "unknown check "+created.OperationID.String())
}

// The machine heard the same again: it is the person's as before.
func TestU6_WhatWasCheckedInVainIsResolvedByAPersonAllTheSame(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	p := d.answered(payment.VerdictUnclear)
	d.heard(p, 999, "ch_1")
	d.does("unknown check --execute " + p.OperationID.String())
	d.heard(p, 999, "ch_1")
	d.does("unknown resolve "+p.OperationID.String()+" --as captured --object ch_7 --amount 10 --execute", why...)
	require.Equal(t, payment.StateCaptured, fixture.State(t, d.App, p))
}

func TestU7_ACaseIsListedShownAndDecidedOnceItIsExecuted(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	require.Equal(t, "no cases\n", d.does("case list"))
	p := d.answered(payment.VerdictUnclear)
	d.heard(p, 999, "ch_1")
	cases := read[app.CasePage](d, "case list --owner person --account card --payment "+p.PaymentID.String())
	require.Len(t, cases.Cases, 1)
	c := cases.Cases[0]
	require.Equal(t, []string{"amount_mismatch", "9.99 TRY", "ch_1", "open", "person"}, []string{c.Kind, c.Amount, c.Object, c.State, c.Owner})
	require.Contains(t, d.does("case list"), "ch_1")
	shown := d.does("case show " + c.ID.String())
	require.Contains(t, shown, "held in suspense")
	require.Contains(t, shown, "captured  9.99 TRY   ch_1")
	require.Len(t, read[app.CaseDetail](d, "case show "+c.ID.String()).Evidence, 2)

	resolve := "case resolve " + c.ID.String()
	text := d.does(resolve+" --as refund", why...)
	require.Equal(t, "would order a refund of 9.99 TRY at card, object ch_1 (a void, where the provider cannot refund)\n"+
		"nothing was changed; this does it, as long as the case has not moved:\n"+
		"payctl "+resolve+" --as refund --version 1 --by 'ada' --reason 'looked at their dashboard' --execute\n", text)
	d.refuses("only what failed and was of exactly this amount can be adopted", resolve+" --as adopt", why...)
	d.refuses("it is at version 1, not 7", resolve+" --as refund --version 7", why...)
	require.Len(t, read[app.CaseDetail](d, "case show "+c.ID.String()).History, 1, "nothing was changed")

	require.Contains(t, d.does(resolve+" --as dismiss", why...), "would close the case and book 9.99 TRY from suspense back")
	d.does(resolve+" --as refund --version 1 --execute", why...)
	detail := read[app.CaseDetail](d, "case show "+c.ID.String())
	require.Equal(t, []string{"refund", "machine"}, []string{detail.Plan, detail.Owner})
	require.Equal(t, []string{"person", "ada", "looked at their dashboard"}, []string{detail.History[1].Actor, detail.History[1].Who, detail.History[1].Reason})
	d.refuses("it is at version 2, not 1", resolve+" --as dismiss --version 1 --execute", why...)
	d.does(resolve+" --as dismiss --version 2 --execute", why...)
	require.Empty(t, read[app.CasePage](d, "case list").Cases)
	require.Len(t, read[app.CasePage](d, "case list --closed").Cases, 1)
	d.refuses("the case is not open", resolve+" --as refund", why...)
	d.refuses("no such case", "case show "+uuid.NewString())
}

func TestP1_U3_AfterALossyFailoverABumpHasEverythingOpenAskedAbout(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	created := fixture.AcceptMany(t, d.App, 3)
	unknown := d.answered(payment.VerdictUnclear)
	d.answered(payment.VerdictCaptured)
	text := d.does("epoch bump", why...)
	require.Equal(t, "card: 3 created\ncard: 1 unknown\nwould have the provider asked about 4 operations before anything is sent\n"+rehearsed+"\n", text)
	require.Zero(t, d.count("SELECT count(*) FROM epoch"))

	text = d.does("epoch bump --execute", why...)
	require.Contains(t, text, "done: the provider is asked about 4 operations")
	require.Equal(t, 4, d.count("SELECT count(*) FROM operation WHERE state = 'unknown' AND next_check_at <= payonce_now()"))
	require.Equal(t, payment.StateUnknown, fixture.State(t, d.App, created[0]))
	require.Equal(t, 1, d.count("SELECT count(*) FROM operation WHERE id = $1 AND fence > 2", unknown.OperationID), "far above what a lost claim had")

	// One that stopped on its way is gone on with, unless commits were lost again.
	_, err := operation.BeginEpoch(t.Context(), d.App, operation.Epoch{ID: uuid.New(), InFlight: time.Minute, Who: "ada", Reason: "restored"})
	require.NoError(t, err)
	require.True(t, read[app.Bumped](d, "epoch bump --reason again").GoesOn)
	require.False(t, read[app.Bumped](d, "epoch bump --again --reason again").GoesOn)
	bumped := read[app.Bumped](d, "epoch bump --execute --reason again")
	require.Equal(t, 4, bumped.Recorded)
	require.Equal(t, 2, d.count("SELECT count(*) FROM epoch"))
	require.Equal(t, 8, d.count("SELECT count(*) FROM attempt WHERE epoch_id IS NOT NULL"))
}

func TestADecisionWithoutWhatItNeedsIsNotUnderstood(t *testing.T) {
	t.Parallel()
	id := uuid.NewString()
	for line, says := range map[string]string{
		"unknown list --limit 501":                                             "--limit is 1 to 500",
		"unknown list --owner nobody":                                          "must be one of",
		"unknown check here":                                                   "invalid UUID",
		"unknown resolve " + id + " --as failed --reason r":                    "look at the provider first",
		"unknown resolve " + id + " --as failed --nothing-is-held":             "missing flags: --reason",
		"unknown resolve " + id + " --as captured --reason r --amount 1":       "captured needs --object and --amount",
		"unknown resolve " + id + " --as unknown --reason r":                   "must be one of",
		"case resolve " + id + " --as refund --reason " + longer(reasonMax):    "--reason is 1 to 2000 characters",
		"case resolve " + id + " --as refund --reason r --by " + longer(byMax): "--by is at most 200 characters",
		"case resolve " + id + " --as refund --reason r --execute":             "--execute needs --version",
		"case list --limit 0":                                                  "--limit is 1 to 500",
		"epoch bump --in-flight 0s --reason r":                                 "--in-flight is above zero",
		"epoch bump --execute":                                                 "missing flags: --reason",
	} {
		code, _, errOut := payctl(t, nil, strings.Fields(line)...)
		require.Equal(t, app.ExitUsage, code, "%s: %s", line, errOut)
		require.Contains(t, errOut, says, line)
	}
}

func longer(limit int) string { return strings.Repeat("x", limit+1) }

func TestR7_WhatWaitsIsShownAndDecidedThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.environ = []string{"PAYONCE_DATABASE_URL=" + d.AppURL + "&default_query_exec_mode=exec"}
	p := d.answered(payment.VerdictUnclear)
	d.does("epoch bump --execute", why...)
	d.forPerson(p)
	require.Len(t, read[app.UnknownPage](d, "unknown list --older-than 0s").Operations, 1)
	d.does("unknown check --execute " + p.OperationID.String())
	d.forPerson(p)
	d.SetNow(t, 3*time.Minute)
	d.does("unknown resolve "+p.OperationID.String()+" --as failed --nothing-is-held --execute", why...)
	require.Equal(t, payment.StateFailed, fixture.State(t, d.App, p))
	require.Empty(t, read[app.CasePage](d, "case list").Cases)
}
