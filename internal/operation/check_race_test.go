package operation_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// slowClock lets a statement that asks for it wait after it took its snapshot and before
// it locks a row.
const slowClock = `CREATE OR REPLACE FUNCTION payonce_now() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF current_setting('test.slow', true) = 'on' THEN PERFORM pg_advisory_lock_shared(1); END IF;
    RETURN clock_timestamp();
END $$`

// A resend is claimed and ends between the snapshot and the lock: the row has its fence.
func TestU4_ALookKnowsOfEverySendThatItsFenceStandsFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := b.unknown()
	_, err := b.Owner.Exec(t.Context(), slowClock)
	require.NoError(t, err)
	holder, err := b.App.Acquire(t.Context())
	require.NoError(t, err)
	defer holder.Release()
	_, err = holder.Exec(t.Context(), "SELECT pg_advisory_lock(1)")
	require.NoError(t, err)

	found := make(chan []operation.Check, 1)
	go func() {
		defer close(found)
		looker, err := b.App.Acquire(context.Background())
		if err != nil {
			return
		}
		defer func() { _ = looker.Conn().Close(context.Background()); looker.Release() }()
		if _, err := looker.Exec(context.Background(), "SET test.slow = 'on'"); err != nil {
			return
		}
		checks, _ := operation.TakeChecks(context.Background(), looker, []string{fixture.Account}, 10, lease)
		found <- checks
	}()
	require.Eventually(t, func() bool {
		return b.count(`SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
			WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`) == 1
	}, 30*time.Second, 5*time.Millisecond)
	b.ordered(p)
	again := b.claimedDue(1)
	require.Len(t, again, 1)
	at := b.locked(p).Now
	require.NoError(t, b.moved(p, operation.Standing{
		State: payment.OperationUnknown, Fence: again[0].Fence, NextCheckAt: &at, OpenSince: &at, WaitsFor: operation.Machine,
	}))
	_, err = holder.Exec(t.Context(), "SELECT pg_advisory_unlock(1)")
	require.NoError(t, err)

	checks := <-found
	require.Len(t, checks, 1)
	require.Equal(t, again[0].Fence, checks[0].Fence)
	require.Equal(t, 2, checks[0].Sends)
	require.True(t, again[0].ClaimedAt.Add(lease+allowance).Equal(checks[0].LastPossibleSend))
}

// Operations that were put off and wait to be sent are due for no look, however long ago
// that was.
func TestU6_WhatIsPutOffStandsInNobodysWay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for range 5 {
		p := fixture.Accept(t, b.App)
		put, err := operation.LookAgain(t.Context(), b.App, operation.Stand{OperationID: p.OperationID}, -time.Hour, operation.Machine)
		require.NoError(t, err)
		require.True(t, put)
	}
	p := b.unknown()
	checks := b.checked(2)
	require.Len(t, checks, 1)
	require.Equal(t, p.OperationID, checks[0].OperationID)
}
