package accept

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/pkg/payment"
)

// patience only matters when a test fails.
const patience = 60 * time.Second

// commit starts a committer that runs until the test ends.
func (d *till) commit(t *testing.T) *Committer {
	t.Helper()
	c := NewCommitter(d.App, d.rules)
	start(t, c)
	return c
}

func start(t *testing.T, c *Committer) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

type answered struct {
	request int
	result  Result
	err     error
}

type acceptFunc func(context.Context, Request) (Result, error)

// all sends the requests at once and returns their answers as they come.
func all(t *testing.T, accept acceptFunc, requests ...Request) <-chan answered {
	t.Helper()
	answers := make(chan answered, len(requests))
	for i, r := range requests {
		go func() {
			result, err := accept(t.Context(), r)
			answers <- answered{i, result, err}
		}()
	}
	return answers
}

// patiently is a client that asks again when it is told to: on a machine that is
// busy a second is not always enough.
func patiently(c *Committer) acceptFunc {
	return func(ctx context.Context, r Request) (Result, error) {
		for {
			if result, err := c.Accept(ctx, r); !errors.Is(err, ErrBusy) && !errors.Is(err, ErrUnavailable) {
				return result, err
			}
		}
	}
}

func TestT2_ManyRequestsWithOneKeyAtOnceAreOnePayment(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	requests := make([]Request, 100)
	for i := range requests {
		requests[i] = d.order(t, "k-1", "INV-1")
	}
	accepted, answers := 0, all(t, patiently(d.commit(t)), requests...)
	var first payment.View
	for range requests {
		a := <-answers
		require.NoError(t, a.err)
		if a.result.Outcome == OutcomeAccepted {
			accepted++
		} else {
			require.Equal(t, OutcomeReplayed, a.result.Outcome)
		}
		if first.ID == (payment.View{}).ID {
			first = a.result.Payment
		}
		require.Equal(t, first, a.result.Payment)
	}
	require.Equal(t, 1, accepted)
	require.Equal(t, stored(1, 0), d.rows(t))
}

func TestGroupsInOppositeOrderDoNotDeadlock(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	const rounds, each = 20, 50
	for round := range rounds {
		// Two crowds want the same keys, invoices and references, one of them
		// from the other end; half of the crowds' keys go with swapped invoices.
		var requests []Request
		for i := range each {
			here, there := fmt.Sprintf("%d-%02d", round, i), fmt.Sprintf("%d-%02d", round, each-1-i)
			requests = append(requests, d.order(t, here, here, reference(there)), d.order(t, there, there, reference(here)),
				d.order(t, "x"+here, there, reference(here)))
		}
		answers := all(t, patiently(c), requests...)
		for range requests {
			require.NoError(t, (<-answers).err)
		}
	}
	rows := d.rows(t)
	require.Equal(t, rows["payment"], rows["idempotency_key"])
	require.Equal(t, rows["payment"], rows["invoice_identity"])
	require.Equal(t, rows["payment"], rows["reference_identity"])
	require.Equal(t, rows["payment"], rows["outbox"])
	var deadlocks int
	d.App.Close() // what a session counted is reported at its end, if not before
	require.NoError(t, d.Owner.QueryRow(t.Context(),
		"SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&deadlocks))
	require.Zero(t, deadlocks)
}

func TestI4_AKeyThatIsHeldKeepsOnlyItsOwnRequestsWaiting(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	// A caller of the library, inside a transaction of its own that takes long.
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = library.Rollback(context.Background()) }()
	held, err := d.rules.Accept(t.Context(), library, []Request{d.order(t, "held", "INV-0")})
	require.NoError(t, err)

	var neighbours []Request
	for i := range 60 {
		neighbours = append(neighbours, d.order(t, fmt.Sprintf("k-%d", i), fmt.Sprintf("INV-%d", i+1)))
	}
	sameKey := all(t, c.Accept, d.order(t, "held", "INV-0"), d.order(t, "held", "INV-0"))
	sameInvoice := all(t, c.Accept, d.order(t, "other", "INV-0"))
	answers := all(t, c.Accept, neighbours...)
	for range neighbours {
		a := <-answers
		require.NoError(t, a.err)
		require.Equal(t, OutcomeAccepted, a.result.Outcome)
	}
	for range 2 {
		require.ErrorIs(t, (<-sameKey).err, ErrBusy)
	}
	require.ErrorIs(t, (<-sameInvoice).err, ErrBusy)

	require.NoError(t, library.Commit(t.Context()))
	again, err := c.Accept(t.Context(), d.order(t, "held", "INV-0"))
	require.NoError(t, err)
	require.Equal(t, OutcomeReplayed, again.Outcome)
	require.Equal(t, held[0].PaymentID, again.PaymentID)
	conflict, err := c.Accept(t.Context(), d.order(t, "other", "INV-0"))
	require.NoError(t, err)
	require.Equal(t, held[0].PaymentID, conflict.PaymentID)
}

func TestI4_ARepeatWaitsForTheFirstOneThatIsJustCommitting(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = library.Rollback(context.Background()) }()
	held, err := d.rules.Accept(t.Context(), library, []Request{d.order(t, "k", "INV-1")})
	require.NoError(t, err)
	repeat := all(t, patiently(c), d.order(t, "k", "INV-1"))
	d.awaitLockWait(t)
	require.NoError(t, library.Commit(t.Context()))
	a := <-repeat
	require.NoError(t, a.err)
	require.Equal(t, OutcomeReplayed, a.result.Outcome)
	require.Equal(t, held[0].Payment, a.result.Payment)
}

func TestI4_ARepeatOfAFirstOneThatRolledBackIsTheFirstOne(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	library, err := d.App.Begin(t.Context())
	require.NoError(t, err)
	_, err = d.rules.Accept(t.Context(), library, []Request{d.order(t, "k", "INV-1")})
	require.NoError(t, err)
	repeat := all(t, patiently(c), d.order(t, "k", "INV-1"))
	d.awaitLockWait(t)
	require.NoError(t, library.Rollback(t.Context()))
	a := <-repeat
	require.NoError(t, a.err)
	require.Equal(t, OutcomeAccepted, a.result.Outcome)
	require.Equal(t, stored(1, 0), d.rows(t))
}

// awaitLockWait returns once a session of this database waits for a lock.
func (d *till) awaitLockWait(t *testing.T) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) { assert.Positive(collect, d.lockWaits(collect)) }, patience, time.Millisecond)
}

// lockWaits counts the sessions of this database that wait for a lock.
func (d *till) lockWaits(t require.TestingT) (waiting int) {
	require.NoError(t, d.Owner.QueryRow(context.Background(), `SELECT count(DISTINCT pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
		WHERE NOT l.granted AND a.datname = current_database()`).Scan(&waiting))
	return waiting
}

func TestACallerThatLeavesIsAnsweredByItsRepeat(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := c.Accept(gone, d.order(t, "k", "INV-1"))
	require.ErrorIs(t, err, ErrUnavailable)
	result, err := c.Accept(t.Context(), d.order(t, "k", "INV-1"))
	require.NoError(t, err)
	require.Equal(t, "INV-1", result.Payment.InvoiceID)
	require.Equal(t, stored(1, 0), d.rows(t))
}

func TestACommitterThatHasStoppedSaysSo(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := NewCommitter(d.App, d.rules)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c.Run(ended)
	_, err := c.Accept(t.Context(), d.order(t, "k", "INV-1"))
	require.ErrorIs(t, err, ErrUnavailable)
}

func TestP5_AFailingRequestOfAGroupFailsAlone(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	c := d.commit(t)
	// There is no such merchant, which only the database knows.
	broken := d.order(t, "broken", "INV-0", func(c *Command) { c.MerchantID[0]++ })
	requests := []Request{broken}
	for i := range 30 {
		requests = append(requests, d.order(t, fmt.Sprintf("k-%d", i), fmt.Sprintf("INV-%d", i+1)))
	}
	answers := all(t, c.Accept, requests...)
	for range requests {
		a := <-answers
		if a.request == 0 {
			var refused *pgconn.PgError
			require.ErrorAs(t, a.err, &refused)
			require.Equal(t, "23503", refused.Code)
			continue
		}
		require.NoError(t, a.err)
	}
	require.Equal(t, stored(30, 0), d.rows(t))

}

func TestR7_AcceptWorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	address, err := url.Parse(d.AppURL)
	require.NoError(t, err)
	query := address.Query()
	query.Set("default_query_exec_mode", "exec")
	address.RawQuery = query.Encode()
	d.App, err = postgres.Open(t.Context(), address.String(), postgres.PoolOptions{ConnsMax: ConnsMax})
	require.NoError(t, err)
	defer d.App.Close()
	whole := d.order(t, "k-1", "INV-1", reference("PO-1"), before(time.Now().Add(time.Hour)), func(c *Command) {
		c.PaymentMethod, c.Customer, c.Metadata = new("tok_1"), new("cus_1"), []byte(`{"a":[1,"x"]}`)
	})
	for _, want := range []struct {
		request Request
		outcome Outcome
	}{
		{whole, OutcomeAccepted},
		{whole, OutcomeReplayed},
		{d.order(t, "k-1", "INV-2"), OutcomeMismatched},
		{d.order(t, "k-2", "INV-1"), OutcomeConflicting},
		{d.order(t, "k-3", "INV-3", reference("PO-1")), OutcomeConflicting},
		{d.order(t, "k-4", "INV-4", before(time.Now().Add(-time.Hour))), OutcomeRefused},
	} {
		require.Equal(t, want.outcome, d.accept(t, want.request)[0].Outcome)
	}
	require.Equal(t, stored(1, 1), d.rows(t))
}
