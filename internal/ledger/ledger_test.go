package ledger_test

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/ledger"
	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/money"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// succeeded are payments whose charges have succeeded and are not booked yet.
func succeeded(t testing.TB, pool *pgxpool.Pool, count int, options ...fixture.Option) []operation.NewPayment {
	t.Helper()
	payments := fixture.AcceptMany(t, pool, count, options...)
	ids := make([]uuid.UUID, count)
	for i, p := range payments {
		ids[i] = p.OperationID
	}
	claim := operation.Claim{
		Worker: "worker", Lease: time.Minute, Allowance: time.Second,
		Served: []operation.Served{{Account: payments[0].ProviderAccount, Recipe: "recipe/1"}},
	}
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := claim.Claim(t.Context(), tx, ids); err != nil {
			return err
		}
		if _, err := tx.Exec(t.Context(), `INSERT INTO evidence (id, operation_id, source, verdict, amount_minor, currency, asked_at, hash)
			SELECT gen_random_uuid(), id, 'settlement', 'captured', amount_minor, currency, payonce_now(), sha256('')
			FROM operation WHERE id = ANY ($1)`, ids); err != nil {
			return err
		}
		_, err := tx.Exec(t.Context(), "UPDATE operation SET state = 'succeeded', lease_until = NULL WHERE id = ANY ($1)", ids)
		return err
	}))
	return payments
}

func charge(p operation.NewPayment) ledger.Posting {
	return ledger.Charge(p.OperationID, p.MerchantID, p.ProviderAccount, p.Amount)
}

func charges(payments []operation.NewPayment) []ledger.Posting {
	postings := make([]ledger.Posting, len(payments))
	for i, p := range payments {
		postings[i] = charge(p)
	}
	return postings
}

func post(t testing.TB, pool *pgxpool.Pool, postings ...ledger.Posting) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		var batch pgx.Batch
		ledger.Queue(&batch, postings)
		return tx.SendBatch(t.Context(), &batch).Close()
	})
}

func over(minor int64, currency money.Currency) fixture.Option {
	return func(p *operation.NewPayment) {
		amount, err := money.New(minor, currency)
		if err != nil {
			panic(err) // only beyond MinorMax
		}
		p.Amount = amount
	}
}

// TestP4_BooksBalance books random payments in random groups and recomputes the
// balances from the entries: they are those of a plain sum, and all of it is zero.
func TestP4_BooksBalance(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	want := map[string]int64{}
	rapid.Check(t, func(rt *rapid.T) {
		account := rapid.SampledFrom([]string{"card", "sepa"}).Draw(rt, "account")
		currency := money.Currency(rapid.SampledFrom([]string{"TRY", "JPY", "KWD"}).Draw(rt, "currency"))
		minor := rapid.Int64Range(1, money.MinorMax/1000).Draw(rt, "minor")
		count := rapid.IntRange(1, 5).Draw(rt, "count")
		payments := succeeded(t, db.App, count, fixture.WithAccount(account), over(minor, currency))
		require.NoError(rt, post(t, db.App, charges(payments)...))
		for _, p := range payments {
			want[ledger.ClearingAccount(account)+" "+string(currency)] += minor
			want[ledger.PayableAccount(p.MerchantID)+" "+string(currency)] -= minor
		}
		balances, err := ledger.Balances(t.Context(), db.App)
		require.NoError(rt, err)
		got, sums := map[string]int64{}, map[money.Currency]int64{}
		for _, b := range balances {
			got[b.Account+" "+string(b.Currency)] = b.Minor
			sums[b.Currency] += b.Minor
		}
		require.True(rt, maps.Equal(want, got))
		for currency, sum := range sums {
			require.Zero(rt, sum, currency)
		}
	})
	var unbalanced int
	require.NoError(t, db.App.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT FROM ledger_entry GROUP BY operation_id, purpose
		HAVING sum(amount_minor) <> 0 OR count(*) <> 2) AS broken`).Scan(&unbalanced))
	require.Zero(t, unbalanced)
}

// The first payments of a merchant come together: each finds the accounts missing.
func TestConcurrentFirstPostingsOpenAnAccountOnce(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	payments := succeeded(t, db.App, 16)
	foreign := succeeded(t, db.App, 16, over(5, "USD"))
	var posters errgroup.Group
	for i := range payments {
		posters.Go(func() error {
			// Half of them meet the accounts in the opposite order.
			if i%2 == 0 {
				return post(t, db.App, charge(payments[i]), charge(foreign[i]))
			}
			return post(t, db.App, charge(foreign[i]), charge(payments[i]))
		})
	}
	require.NoError(t, posters.Wait(), "no deadlock, and no account twice")
	balances, err := ledger.Balances(t.Context(), db.App)
	require.NoError(t, err)
	require.ElementsMatch(t, []ledger.Balance{
		{Account: ledger.PayableAccount(payments[0].MerchantID), Currency: "TRY", Minor: -16_000},
		{Account: ledger.PayableAccount(foreign[0].MerchantID), Currency: "USD", Minor: -80},
		{Account: "provider:card:clearing", Currency: "TRY", Minor: 16_000},
		{Account: "provider:card:clearing", Currency: "USD", Minor: 80},
	}, balances)
}

func TestL1_AMovementIsBookedOnceAndForWhatItMoved(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	p := succeeded(t, db.App, 1)[0]
	open := fixture.Accept(t, db.App)
	other, err := money.New(p.Amount.Minor()+1, p.Amount.Currency())
	require.NoError(t, err)
	refused := func(constraint string, postings ...ledger.Posting) {
		t.Helper()
		var pg *pgconn.PgError
		require.ErrorAs(t, post(t, db.App, postings...), &pg)
		require.Equal(t, constraint, pg.ConstraintName)
	}
	refused("a_posting_books_what_moved", charge(p), charge(open))
	refused("a_posting_books_what_moved", ledger.Charge(p.OperationID, p.MerchantID, p.ProviderAccount, other))
	refused("a_posting_is_booked_once", charge(p), charge(p))
	balances, err := ledger.Balances(t.Context(), db.App)
	require.NoError(t, err)
	require.Empty(t, balances, "a group is booked whole or not at all")

	require.NoError(t, post(t, db.App, charge(p)))
	refused("a_posting_is_booked_once", charge(p))
	require.NoError(t, post(t, db.App), "nothing to book is no statement")
}

func TestR7_BooksAreKeptThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	db := testkit.NewDatabase(t)
	pool, err := postgres.Open(t.Context(), db.AppURL+"&default_query_exec_mode=exec", postgres.PoolOptions{})
	require.NoError(t, err)
	defer pool.Close()
	p := succeeded(t, pool, 1)[0]
	require.NoError(t, post(t, pool, charge(p)))
	balances, err := ledger.Balances(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, "[{merchant:"+p.MerchantID.String()+":payable TRY -1000} {provider:card:clearing TRY 1000}]", fmt.Sprint(balances))
}
