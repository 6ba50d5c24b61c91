package drift_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/drift"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// drifted is a bundle with one difference on each page of its list, and one that no
// page names.
func drifted(t *testing.T) (b *bundle, missing operation.NewPayment) {
	t.Helper()
	b = start(t, options{perPage: 1})
	for range 4 {
		b.charges("foreign-"+uuid.NewString(), 100)
	}
	missing = b.claims()
	b.later()
	b.requests()
	return b, missing
}

// foundAll asserts that each difference was found, once.
func (b *bundle) foundAll(missing operation.NewPayment) {
	b.t.Helper()
	require.Len(b.t, b.findings(), 4)
	require.Equal(b.t, []string{"failed_after_captured person"}, b.cases(missing))
	require.Equal(b.t, 1, b.Count("SELECT count(*) FROM evidence WHERE operation_id = $1 AND source = 'inquiry'", missing.OperationID))
	require.Zero(b.t, b.leftovers())
	require.Equal(b.t, 1, b.count("drift_scan"))
}

func TestU10_AScanThatIsStoppedGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	ctx, stop := context.WithCancel(t.Context())
	b.stopsAt(2, stop) // its page is still read: a step that has begun is finished
	stopped, err := b.scanner.Scan(ctx, fixture.Account, b.window)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 2, stopped.Pages)
	done, err := b.anotherScanner().Scan(t.Context(), fixture.Account, b.window)
	require.NoError(t, err)
	require.Equal(t, stopped.ID, done.ID)
	pages, _ := b.requests()
	require.Equal(t, 5, pages, "none is read twice; the last one is empty")
	b.foundAll(missing)
}

// A scanner that stands still for longer than its lease is as good as killed, until it
// wakes up.
func TestU10_AScannerThatWasTakenOverWritesNothing(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	frozen, wakeUp := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.onList = func(page int) {
		if page == 3 {
			once.Do(func() {
				close(frozen)
				<-wakeUp
			})
		}
	}
	slept := make(chan error, 1)
	go func() {
		_, err := b.scanner.Scan(context.WithoutCancel(t.Context()), fixture.Account, b.window)
		slept <- err
	}()
	select {
	case <-frozen:
	case err := <-slept:
		require.NoError(t, err, "it did not get so far")
	}
	_, err := b.anotherScanner().Scan(t.Context(), fixture.Account, b.window)
	require.ErrorIs(t, err, drift.ErrTaken, "the lease holds")

	b.DB.SetNow(t, time.Hour+3*time.Minute)
	ctx, stop := context.WithCancel(t.Context())
	b.stopsAt(4, stop)
	half, err := b.anotherScanner().Scan(ctx, fixture.Account, b.window)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 3, half.Pages)
	close(wakeUp)
	require.ErrorIs(t, <-slept, drift.ErrTaken)
	done, err := b.anotherScanner().Scan(t.Context(), fixture.Account, b.window)
	require.NoError(t, err)
	require.Equal(t, int64(4), done.Listed)
	b.foundAll(missing)
}

func TestU10_APageThatCannotBeReadStopsTheScanAndLosesNothing(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	b.onList = func(page int) {
		if page == 3 {
			b.edit["after"] = "x" // which the provider refuses
			return
		}
		delete(b.edit, "after")
	}
	broken, err := b.scanner.Scan(t.Context(), fixture.Account, b.window)
	require.ErrorContains(t, err, "status 400")
	require.Equal(t, drift.Listing, broken.Phase)
	_, err = b.scanner.Scan(t.Context(), fixture.Account, b.window)
	require.NoError(t, err)
	b.foundAll(missing)
}

func TestU10_TwoScannersShareOneScan(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	_, err := b.DB.App.Exec(t.Context(), `INSERT INTO drift_scanned (provider_account, identity, scanned_until) VALUES ($1, 'sim_1', $2)`,
		fixture.Account, b.window.From)
	require.NoError(t, err)
	var rounds sync.WaitGroup
	worked, failed := make([]bool, 2), make([]error, 2)
	for i := range worked {
		rounds.Go(func() { worked[i], failed[i] = b.anotherScanner().Round(t.Context(), fixture.Account) })
	}
	rounds.Wait()
	require.NoError(t, errors.Join(failed...))
	require.ElementsMatch(t, []bool{true, false}, worked)
	pages, _ := b.requests()
	require.Equal(t, 5, pages)
	b.foundAll(missing)
}

func TestU10_R7_AScanWorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	pool, err := postgres.Open(t.Context(), b.DB.AppURL+"&default_query_exec_mode=exec", postgres.PoolOptions{})
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	b.scanner.Pool = pool
	b.scan()
	b.foundAll(missing)
}

func TestU10_AScanWhoseListCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	broken := drift.Window{From: b.window.From.Add(-24 * time.Hour), To: b.window.From.Add(-23 * time.Hour)}
	b.edit["after"] = "x" // which the provider refuses
	_, err := b.scanner.Scan(t.Context(), fixture.Account, broken)
	require.ErrorContains(t, err, "status 400")
	_, err = b.DB.App.Exec(t.Context(), `UPDATE drift_scanned SET scanned_until = $1`, b.window.From)
	require.NoError(t, err)
	delete(b.edit, "after")
	worked, err := b.scanner.Round(t.Context(), fixture.Account)
	require.NoError(t, err)
	require.True(t, worked)
	require.Len(t, b.findings(), 4)
	require.Len(t, b.cases(missing), 1)
	require.Equal(t, 1, b.Count("SELECT count(*) FROM drift_scan WHERE finished_at IS NULL"), "the broken one is tried again")
}

func TestU10_TheSameWindowTwiceFindsNothingNew(t *testing.T) {
	t.Parallel()
	b, missing := drifted(t)
	b.StartScheduler()
	b.scripts("decline")
	failed := b.pays(1, payment.StateFailed)[0]
	b.charges(failed.OperationID.String(), 1000)
	first := b.scan()
	require.Equal(t, int64(1), first.Told)
	require.Equal(t, int64(1), first.Asked)
	require.Equal(t, int64(4), first.Found)
	evidence, cases, history := b.count("evidence"), b.count("payment_case"), b.count("payment_case_history")

	second := b.scan()
	require.NotEqual(t, first.ID, second.ID)
	require.Zero(t, second.Told+second.Asked+second.Found)
	require.Equal(t, evidence, b.count("evidence"))
	require.Equal(t, cases, b.count("payment_case"))
	require.Equal(t, history, b.count("payment_case_history"))
	require.Len(t, b.findings(), 4)
	require.Len(t, b.cases(missing), 1)
}

func TestU10_AProvidersClockMayBeAnHourOff(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t, options{ahead: ahead})
			b.StartScheduler()
			b.pays(3, payment.StateCaptured)
			b.scripts("cut_after")
			lost := b.pays(1, payment.StateUnknown)[0]
			b.window = drift.Window{From: time.Now().Add(-time.Minute), To: time.Now().Add(time.Second)}
			b.requests()
			done := b.scan()
			require.Equal(t, int64(4), done.Listed)
			require.Equal(t, int64(1), done.Told)
			require.Equal(t, payment.StateCaptured, fixture.State(t, b.DB.App, lost))
			require.Zero(t, done.Asked, "all of ours were listed")
		})
	}
}

func TestU10_TheWindowsOfTheScheduleLeaveNoGap(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	fixture.Accept(t, b.DB.App)
	round := func() bool {
		worked, err := b.scanner.Round(t.Context(), fixture.Account)
		require.NoError(t, err)
		return worked
	}
	for day := range 3 {
		b.DB.SetNow(t, time.Duration(day)*30*time.Hour)
		for round() {
		}
	}
	rows, err := b.DB.App.Query(t.Context(), `SELECT count(*), bool_and(s.from_at = b.to_at), max(s.to_at - s.from_at) <= '24 hours'
		FROM drift_scan s JOIN LATERAL (SELECT to_at FROM drift_scan e WHERE e.from_at < s.from_at ORDER BY e.from_at DESC LIMIT 1) b ON true`)
	require.NoError(t, err)
	require.True(t, rows.Next())
	var windows int
	var meet, bounded bool
	require.NoError(t, rows.Scan(&windows, &meet, &bounded))
	rows.Close()
	require.Equal(t, 4, windows)
	require.True(t, meet)
	require.True(t, bounded)
	require.Equal(t, 1, b.Count(`SELECT count(*) FROM drift_scanned WHERE scanned_until <= payonce_now() - interval '10 minutes'
		AND scanned_until > payonce_now() - interval '12 minutes'`))
	require.Equal(t, 1, b.Count("SELECT count(*) FROM operation o JOIN drift_scan s ON s.from_at <= o.created_at AND o.created_at < s.to_at"))
}

func TestU10_AWindowThatAPersonChoosesMovesTheMarkOnlyWithoutAGap(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	fixture.Accept(t, b.DB.App) // the mark begins an hour before it
	until := func() time.Time {
		var at time.Time
		require.NoError(t, b.DB.App.QueryRow(t.Context(), "SELECT scanned_until FROM drift_scanned").Scan(&at))
		return at
	}
	b.scan()
	begins := until()
	require.WithinDuration(t, time.Now().Add(-time.Hour), begins, time.Minute, "there is a gap before the window")
	b.window.From = begins.Add(-time.Minute)
	b.scan()
	require.WithinDuration(t, b.window.To, until(), time.Millisecond)
}

func TestU10_WhatMayNotBeListedYetIsNotScanned(t *testing.T) {
	t.Parallel()
	b := start(t, options{})
	_, err := b.scanner.Scan(t.Context(), fixture.Account, drift.Window{From: b.window.From, To: time.Now()})
	require.ErrorIs(t, err, drift.ErrTooRecent)
	_, err = b.scanner.Scan(t.Context(), fixture.Account, drift.Window{From: b.window.To, To: b.window.From})
	require.ErrorIs(t, err, drift.ErrNoWindow)
	_, err = b.scanner.Scan(t.Context(), "other", b.window)
	require.ErrorContains(t, err, `"other" is not configured`)
	b.later()
	plan, err := b.scanner.Preview(t.Context(), fixture.Account, b.window)
	require.NoError(t, err)
	require.Equal(t, "sim_1", plan.Identity)
	require.Equal(t, b.window.From.Add(-drift.ClockMargin), plan.ListFrom)
	require.Zero(t, b.count("drift_scan")+b.count("drift_scanned"), "looking writes nothing")
	b.scan()
	looked, err := b.scanner.Preview(t.Context(), fixture.Account, drift.Window{From: b.window.From.Add(-time.Hour), To: b.window.From})
	require.NoError(t, err)
	require.WithinDuration(t, plan.ScannedUntil, looked.ScannedUntil, 5*time.Minute, "the mark is where it was said to be")
}
