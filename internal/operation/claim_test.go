package operation_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

func TestW1_AHundredClaimsOfTheSameOperationsMakeOneAttemptEach(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payments := fixture.AcceptMany(t, b.App, 20)
	ids := operations(payments)
	made := make([][]operation.Attempt, 100)
	var claimers errgroup.Group
	for i := range made {
		order := slices.Clone(ids)
		if i%2 == 1 {
			slices.Reverse(order)
		}
		claimers.Go(func() (err error) {
			made[i], err = within(t.Context(), b.App, func(tx pgx.Tx) ([]operation.Attempt, error) {
				return b.claim.Claim(t.Context(), tx, order)
			})
			return err
		})
	}
	require.NoError(t, claimers.Wait())
	require.ElementsMatch(t, ids, attempted(slices.Concat(made...)), "each operation is one caller's")
	require.Equal(t, 20, b.count("SELECT count(*) FROM attempt"))
	require.Equal(t, 20, b.count("SELECT count(*) FROM operation WHERE state = 'processing' AND fence = 1"))
}

func TestW1_AClaimRecordsThePossibleSend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	before := time.Now().Add(time.Hour).Truncate(time.Microsecond).UTC()
	p := fixture.Accept(t, b.App, fixture.WithMethod("tok_visa"), fixture.ChargeBefore(before))

	a := b.claimed(p)[0]
	require.Equal(t, operation.Attempt{
		OperationID: p.OperationID, PaymentID: p.PaymentID, Kind: payment.KindCharge, ProviderAccount: fixture.Account, Amount: p.Amount,
		ChargeBefore: a.ChargeBefore, Fence: 1, ClaimID: a.ClaimID, PaymentMethod: new("tok_visa"), ClaimedAt: a.ClaimedAt, FirstClaimedAt: a.ClaimedAt,
	}, a)
	require.True(t, before.Equal(*a.ChargeBefore))

	var worker, recipe string
	var claimedAt, leaseUntil, lastPossibleSend time.Time
	require.NoError(t, b.App.QueryRow(t.Context(), `SELECT worker, recipe, claimed_at, lease_until, last_possible_send FROM attempt
		WHERE operation_id = $1 AND fence = 1 AND NOT not_sent AND finished_at IS NULL`, p.OperationID).
		Scan(&worker, &recipe, &claimedAt, &leaseUntil, &lastPossibleSend))
	require.Equal(t, []string{"worker-1", "recipe/1"}, []string{worker, recipe})
	require.Equal(t, a.ClaimedAt, claimedAt)
	require.Equal(t, lease, leaseUntil.Sub(claimedAt))
	require.Equal(t, allowance, lastPossibleSend.Sub(leaseUntil))

	row := b.locked(p)
	require.Equal(t, leaseUntil, *row.LeaseUntil)
	require.Nil(t, row.NextAttemptAt, "a claim is not due any more")
	require.Equal(t, payment.StateProcessing, row.Payment.State)
}

func TestW1_AClaimThatDoesNotCommitIsNone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	crash := errors.New("crash")
	_, err := within(t.Context(), b.App, func(tx pgx.Tx) ([]operation.Attempt, error) {
		attempts, err := b.claim.Claim(t.Context(), tx, operations([]operation.NewPayment{p}))
		require.NoError(t, err)
		require.Len(t, attempts, 1)
		return nil, crash
	})
	require.ErrorIs(t, err, crash)
	require.Zero(t, b.count("SELECT count(*) FROM attempt"))
	require.EqualValues(t, 1, b.claimed(p)[0].Fence)
}

func TestClaimLeavesAloneWhatItMayNotSend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := fixture.Accept(t, b.App)
	stranger := fixture.Accept(t, b.App, fixture.WithAccount("other"))
	late := fixture.Accept(t, b.App, fixture.ChargeBefore(time.Now().Add(-time.Second)))
	unknown := b.unknown()
	processing := fixture.Accept(t, b.App)
	b.claimed(processing)
	held, captured := fixture.Accept(t, b.App), fixture.Accept(t, b.App)
	b.told(held, "webhook", "pending")
	b.told(captured, "webhook", "captured")
	nobody := operation.NewPayment{OperationID: uuid.New()}

	attempts := b.claimed(late, nobody, stranger, captured, good, unknown, held, processing)
	require.Equal(t, []uuid.UUID{good.OperationID}, attempted(attempts), "and none of the others keeps it from being claimed")
	require.Equal(t, payment.OperationUnknown, b.locked(unknown).State)
	for _, p := range []operation.NewPayment{stranger, late, held, captured} {
		require.Equal(t, payment.OperationCreated, b.locked(p).State)
	}
	require.Empty(t, b.claimed(good), "claimed is claimed")
}

func TestParkedOperationsComeBackAndSayWhyTheyWait(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p, taken := fixture.Accept(t, b.App), fixture.Accept(t, b.App)
	b.claimed(taken)
	must(b, func(ctx context.Context, tx pgx.Tx) (bool, error) {
		return true, operation.Park(ctx, tx, operations([]operation.NewPayment{taken, p}), 30*time.Second, "breaker-open")
	})
	views, err := operation.Views(t.Context(), b.App, p.MerchantID, []uuid.UUID{p.PaymentID})
	require.NoError(t, err)
	require.Equal(t, new("breaker-open"), views[p.PaymentID].Reason, "P2: a payment that waits says why")
	require.Nil(t, b.locked(taken).Reason, "only what waits to be sent is parked")

	require.Empty(t, b.claimedDue(10))
	b.SetNow(t, 31*time.Second)
	require.Equal(t, []uuid.UUID{p.OperationID}, attempted(b.claimedDue(10)))
	require.Nil(t, b.locked(p).Reason, "it does not wait any more")
}

func TestAddressesOfUnknownIDsAreAbsent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := fixture.Accept(t, b.App)
	found, err := operation.Addresses(t.Context(), b.App, []uuid.UUID{uuid.New(), p.OperationID})
	require.NoError(t, err)
	require.Equal(t, map[uuid.UUID]operation.Address{
		p.OperationID: {OperationID: p.OperationID, PaymentID: p.PaymentID, Kind: payment.KindCharge, ProviderAccount: fixture.Account},
	}, found)
}

// The account is all that follows the first @ of a recipe, as provider.AccountOf reads it.
func TestP1_AnAccountMayHaveAnAtSignInItsName(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	at := func(recipe string) operation.Claim {
		c := b.claim
		c.Served = []operation.Served{{Account: fixture.Account, Recipe: recipe, Horizon: time.Hour}}
		return c
	}
	claims := func(recipe string, p operation.NewPayment) int {
		attempts, err := within(t.Context(), b.App, func(tx pgx.Tx) ([]operation.Attempt, error) {
			return at(recipe).Claim(t.Context(), tx, []uuid.UUID{p.OperationID})
		})
		require.NoError(t, err)
		return len(attempts)
	}
	begun := fixture.Accept(t, b.App)
	_, err := b.App.Exec(t.Context(), `WITH attempted AS (
		INSERT INTO attempt (operation_id, fence, worker, recipe, claimed_at, lease_until, last_possible_send)
		VALUES ($1, 1, 'w', 'recipe/1@shop@one', payonce_now(), payonce_now(), payonce_now()))
		UPDATE operation SET fence = 1 WHERE id = $1`, begun.OperationID)
	require.NoError(t, err)
	require.Zero(t, claims("recipe/1@shop@two", begun))
	require.Equal(t, 1, claims("recipe/1@shop@one", begun))

	lost := fixture.Accept(t, b.App)
	e, err := operation.BeginEpoch(t.Context(), b.App, operation.Epoch{ID: uuid.New(), InFlight: time.Minute, Who: "ada", Reason: "restored"})
	require.NoError(t, err)
	_, err = within(t.Context(), b.App, func(tx pgx.Tx) (map[uuid.UUID]bool, error) {
		locked, err := operation.Lock(t.Context(), tx, []uuid.UUID{lost.OperationID})
		require.NoError(t, err)
		return e.RecordLost(t.Context(), tx, locked)
	})
	require.NoError(t, err)
	require.Equal(t, 1, b.count("SELECT count(*) FROM attempt WHERE operation_id = $1 AND recipe = '@shop@one'", lost.OperationID))
}
