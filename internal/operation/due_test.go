package operation_test

import (
	"context"
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

func TestW5_FourWorkersShareTheDueList(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payments := fixture.AcceptMany(t, b.App, 300)
	var orders []operation.NewPayment
	for range 10 {
		p := b.unknown()
		b.ordered(p)
		orders = append(orders, p)
	}
	b.dueIn(-1, payments...)
	made := make([][]operation.Attempt, 4)
	var workers errgroup.Group
	for i := range made {
		workers.Go(func() error {
			// What another worker holds is skipped, so an empty look is no end.
			for b.count("SELECT count(*) FROM operation WHERE next_attempt_at IS NOT NULL") > 0 {
				attempts, err := b.claims(16)
				if err != nil {
					return err
				}
				if len(attempts) > 16 {
					t.Errorf("%d attempts, more than the limit", len(attempts))
				}
				made[i] = append(made[i], attempts...)
			}
			return nil
		})
	}
	require.NoError(t, workers.Wait())
	require.ElementsMatch(t, operations(append(payments, orders...)), attempted(slices.Concat(made...)), "each is claimed, and once")
	require.Equal(t, 320, b.count("SELECT count(*) FROM attempt"), "300, and 10 with a second one")
}

func TestW5_TheDueListTakesTheOldestFirstAndNoMoreThanAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.claim = claimFor("first", "second")
	var want []uuid.UUID
	for i := range 6 {
		p := fixture.Accept(t, b.App, fixture.WithAccount([]string{"first", "second"}[i%2]))
		b.dueIn(-10+i, p)
		want = append(want, p.OperationID)
	}
	require.ElementsMatch(t, want[:4], attempted(b.claimedDue(4)), "over both accounts")
	require.ElementsMatch(t, want[4:], attempted(b.claimedDue(4)))
	require.Empty(t, b.claimedDue(4))
}

func TestTheDueListIsBlindForWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	fixture.Accept(t, b.App) // its message has a minute to come
	stranger := fixture.Accept(t, b.App, fixture.WithAccount("other"))
	late := fixture.Accept(t, b.App, fixture.ChargeBefore(time.Now().Add(-time.Second)))
	b.dueIn(-1, stranger, late)
	require.Empty(t, b.claimedDue(10))

	b.SetNow(t, operation.MessageGrace+time.Second)
	require.Len(t, b.claimedDue(10), 1, "a lost message costs a minute and no payment")
	require.Equal(t, payment.OperationCreated, b.locked(stranger).State)
	require.Equal(t, payment.OperationCreated, b.locked(late).State)
}

func TestTheDueListWaitsForNobody(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	held, free := fixture.Accept(t, b.App), fixture.Accept(t, b.App)
	b.dueIn(-1, held, free)
	holder, err := b.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	_, err = operation.Lock(t.Context(), holder, operations([]operation.NewPayment{held}))
	require.NoError(t, err)
	attempts := must(b, func(ctx context.Context, tx pgx.Tx) ([]operation.Attempt, error) {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '1s'"); err != nil {
			return nil, err
		}
		return b.claim.ClaimDue(ctx, tx, 10)
	})
	require.Equal(t, []uuid.UUID{free.OperationID}, attempted(attempts))
}

func TestOverdueNamesWhatWasNotSentInTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	soon := fixture.ChargeBefore(time.Now().Add(30 * time.Second))
	late, personal := fixture.Accept(t, b.App, soon), fixture.Accept(t, b.App, soon)
	fixture.Accept(t, b.App) // unbounded
	fixture.Accept(t, b.App, soon, fixture.WithAccount("other"))
	b.unknown(soon) // may have been sent
	stands, err := operation.HandToPerson(t.Context(), b.App, operation.Stand{OperationID: personal.OperationID}, "door-open")
	require.NoError(t, err)
	require.True(t, stands)
	overdue := func() ([]uuid.UUID, []uuid.UUID) {
		operations, payments, err := operation.Overdue(t.Context(), b.App, []string{fixture.Account}, 10)
		require.NoError(t, err)
		return operations, payments
	}
	none, _ := overdue()
	require.Empty(t, none)
	b.SetNow(t, time.Minute)
	ids, payments := overdue()
	require.Equal(t, []uuid.UUID{late.OperationID}, ids)
	require.Equal(t, []uuid.UUID{late.PaymentID}, payments)
}
