package operation_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestU6_EachDueLookIsOneReconcilersUntilItsTimeRunsOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var open []uuid.UUID
	for range 20 {
		open = append(open, b.unknown().OperationID)
	}
	var first []operation.Check
	second, err := within(t.Context(), b.App, func(tx pgx.Tx) (second []operation.Check, err error) {
		if first, err = operation.TakeChecks(t.Context(), tx, []string{fixture.Account}, 12, lease); err != nil {
			return nil, err
		}
		return b.checked(20), nil // another reconciler, at the same time
	})
	require.NoError(t, err)
	require.Len(t, first, 12)
	require.ElementsMatch(t, open, looked(append(first, second...)), "what one is taking is neither taken by nor waited for by another")
	require.Empty(t, b.checked(20), "whoever took them has the lease")

	b.SetNow(t, lease+time.Second)
	again := b.checked(15)
	require.Len(t, again, 15, "a dead reconciler's share comes back, within the limit")
	require.Equal(t, 2, again[0].Checks)
}

func looked(checks []operation.Check) []uuid.UUID {
	ids := make([]uuid.UUID, len(checks))
	for i, c := range checks {
		ids[i] = c.OperationID
	}
	return ids
}

func TestALookComesWithAllThatTheStrategyNeeds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	p := b.unknown(fixture.WithMethod("tok_visa"), fixture.ChargeBefore(before))
	b.SetNow(t, time.Minute)
	b.ordered(p)
	second := b.claimedDue(1)[0]
	_, err := b.App.Exec(t.Context(), `UPDATE attempt SET finished_at = payonce_now() WHERE operation_id = $1 AND fence = 2`, p.OperationID)
	require.NoError(t, err)
	b.told(p, "inquiry", "not_taken")
	b.told(p, "inquiry", "unclear")
	b.told(p, "webhook", "not_taken")
	at := b.locked(p).Now
	require.NoError(t, b.moved(p, operation.Standing{
		State: payment.OperationUnknown, Fence: 2, NextCheckAt: &at, OpenSince: &at, WaitsFor: operation.Machine,
		ProviderObjectID: new("ch_1"),
	}))

	c := b.checked(1)[0]
	require.Equal(t, operation.Check{
		OperationID: p.OperationID, PaymentID: p.PaymentID, Kind: payment.KindCharge, ProviderAccount: fixture.Account, Amount: p.Amount,
		ChargeBefore: c.ChargeBefore, State: payment.OperationUnknown, Fence: 2, Checks: 1, OpenSince: c.OpenSince,
		WaitsFor: operation.Machine, ProviderObjectID: new("ch_1"), PaymentMethod: new("tok_visa"), Recipe: "recipe/1", AskedAt: c.AskedAt,
		FirstPossibleSend: second.FirstClaimedAt, LastPossibleSend: second.ClaimedAt.Add(lease + allowance), Sends: 2,
		NotFoundAskedAt: c.NotFoundAskedAt,
	}, c)
	require.True(t, before.Equal(*c.ChargeBefore))
	require.True(t, at.Equal(c.OpenSince))
	require.NotNil(t, c.NotFoundAskedAt)
	require.False(t, c.AskedAt.Before(*c.NotFoundAskedAt))

	// An attempt that was proven unsent counts for neither horizon nor grace.
	unsent := "UPDATE attempt SET not_sent = true, not_sent_by = claim_id, finished_at = payonce_now() WHERE operation_id = $1 AND fence = 1"
	_, err = b.App.Exec(t.Context(), unsent, p.OperationID)
	require.NoError(t, err)
	b.told(p, "closure", "not_taken")
	b.SetNow(t, time.Hour)
	c = b.checked(1)[0]
	require.True(t, second.ClaimedAt.Equal(c.FirstPossibleSend))
	require.NotNil(t, c.DoorClosedAt)
	require.Equal(t, 2, c.Checks)
}

func TestALookIsOnlyForWhatIsOpenAndInNobodysHands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	created, processing, ordered, leased := fixture.Accept(t, b.App), fixture.Accept(t, b.App), b.unknown(), b.unknown()
	b.claimed(processing)
	b.ordered(leased)
	require.Len(t, b.claimedDue(1), 1)
	b.ordered(ordered)
	stranger := fixture.Accept(t, b.App, fixture.WithAccount("other"))
	b.SetNow(t, lease/2)
	require.Empty(t, b.checked(10))
	for _, p := range []operation.NewPayment{created, processing, ordered, leased, stranger} {
		require.Zero(t, b.locked(p).Checks)
	}
}

func TestU6_TheNextLookIsSetForTheFenceThatWasLookedAt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.unknown()
	c := b.checked(1)[0]
	stand := operation.Stand{OperationID: p.OperationID, Fence: c.Fence}
	set, err := operation.LookAgain(t.Context(), b.App, stand, time.Hour, operation.Person)
	require.NoError(t, err)
	require.True(t, set)
	row := b.locked(p)
	require.Equal(t, operation.Person, row.WaitsFor)
	require.WithinDuration(t, row.Now.Add(time.Hour), *row.NextCheckAt, time.Minute)

	b.ordered(p)
	set, err = operation.LookAgain(t.Context(), b.App, stand, time.Hour, operation.Machine)
	require.NoError(t, err)
	require.False(t, set, "a resend order stands")
	require.Len(t, b.claimedDue(1), 1)
	for _, fence := range []int64{1, 2} {
		stand.Fence = fence
		set, err = operation.LookAgain(t.Context(), b.App, stand, time.Hour, operation.Machine)
		require.NoError(t, err)
		require.False(t, set, "a worker has it")
	}
}

func TestAPersonIsNotAskedAboutWhatIsFinal(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	stand := operation.Stand{OperationID: p.OperationID}
	handed, err := operation.HandToPerson(t.Context(), b.App, operation.Stand{OperationID: p.OperationID, Fence: 1}, "door-open")
	require.NoError(t, err)
	require.False(t, handed, "another fence")
	handed, err = operation.HandToPerson(t.Context(), b.App, stand, "door-open")
	require.NoError(t, err)
	require.True(t, handed)
	views, err := operation.Views(t.Context(), b.App, p.MerchantID, []uuid.UUID{p.PaymentID})
	require.NoError(t, err)
	require.Equal(t, new("door-open"), views[p.PaymentID].Reason)

	require.NoError(t, b.moved(p, operation.Standing{State: payment.OperationCanceled, WaitsFor: operation.Machine}))
	handed, err = operation.HandToPerson(t.Context(), b.App, stand, "door-open")
	require.NoError(t, err)
	require.False(t, handed, "it was settled meanwhile, with the same fence")
	require.Nil(t, b.locked(p).Reason)
}

func TestU3_ALeaseThatRanOutIsHandedToOneReconciler(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetNow(t, 0) // a clock that is first replaced under a transaction is not seen by it
	payments := fixture.AcceptMany(t, b.App, 10)
	b.claimed(payments...)
	resent := b.unknown()
	b.ordered(resent)
	require.Len(t, b.claimedDue(1), 1)
	stranger := fixture.Accept(t, b.App, fixture.WithAccount("other"))
	b.claim = claimFor("other")
	b.claimed(stranger)
	expired := func(tx pgx.Tx, limit int) []uuid.UUID {
		rows, err := operation.LockExpired(t.Context(), tx, []string{fixture.Account}, limit)
		require.NoError(t, err)
		ids := make([]uuid.UUID, len(rows))
		for i, r := range rows {
			ids[i] = r.ID
		}
		return ids
	}
	first, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = first.Rollback(t.Context()) }()
	second, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = second.Rollback(t.Context()) }()

	require.Empty(t, expired(first, 20), "the workers still hold them")
	b.SetNow(t, lease+time.Second)
	mine := expired(first, 6)
	require.Len(t, mine, 6)
	for _, id := range expired(second, 20) {
		require.NotContains(t, mine, id)
	}
	require.NoError(t, second.Rollback(t.Context()))
	require.NoError(t, first.Rollback(t.Context()))
	third, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = third.Rollback(t.Context()) }()
	require.ElementsMatch(t, append(operations(payments), resent.OperationID), expired(third, 20), "first sends and resends alike")
}
