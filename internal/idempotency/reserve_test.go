package idempotency_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/idempotency"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// newDatabase is one whose keys need not stand for anything.
func newDatabase(t *testing.T) *testkit.Database {
	t.Helper()
	d := testkit.NewDatabase(t)
	_, err := d.Owner.Exec(t.Context(), "ALTER TABLE idempotency_key DISABLE TRIGGER a_key_stands_for_something_whole")
	require.NoError(t, err)
	return d
}

func entry(merchant uuid.UUID, key, amount string) idempotency.Entry {
	return idempotency.Entry{
		Scope:      idempotency.Scope{MerchantID: merchant, Route: "payments", Key: key},
		Request:    request(idempotency.Fields{"amount": &amount, "customer": nil}),
		ResourceID: uuid.Must(uuid.NewV7()),
	}
}

// reserve commits the entries and returns their records.
func reserve(t *testing.T, pool *pgxpool.Pool, entries ...idempotency.Entry) []idempotency.Record {
	t.Helper()
	records, err := tryReserve(t.Context(), pool, entries...)
	require.NoError(t, err)
	return records
}

func tryReserve(ctx context.Context, pool *pgxpool.Pool, entries ...idempotency.Entry) (records []idempotency.Record, err error) {
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) (err error) {
		records, err = idempotency.Reserve(ctx, tx, entries)
		return err
	})
	return records, err
}

func differences(t *testing.T, r idempotency.Record, e idempotency.Entry) []string {
	t.Helper()
	names, err := r.Differences(e.Request)
	require.NoError(t, err)
	return names
}

func TestI4_AKeyStandsForItsFirstRequest(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	shop := uuid.New()
	first, same, other, fresh := entry(shop, "k", "1000"), entry(shop, "k", "1000"), entry(shop, "k", "1001"), entry(shop, "l", "1000")

	record := reserve(t, database.App, first)[0]
	require.Equal(t, first.ResourceID, record.ResourceID)
	require.False(t, record.Answered())
	require.WithinDuration(t, time.Now(), record.ReservedAt, time.Minute)

	records := reserve(t, database.App, fresh, other, same)
	require.Equal(t, fresh.ResourceID, records[0].ResourceID)
	require.Equal(t, first.ResourceID, records[1].ResourceID)
	require.Equal(t, []string{"amount"}, differences(t, records[1], other))
	require.Equal(t, first.ResourceID, records[2].ResourceID)
	require.Empty(t, differences(t, records[2], same))
}

func TestI7_AnotherMerchantsKeyAndAnotherRouteAreOtherKeys(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	shop := uuid.New()
	payments, stranger, refunds := entry(shop, "k", "1"), entry(uuid.New(), "k", "2"), entry(shop, "k", "3")
	refunds.Route = "refunds"
	for _, e := range []idempotency.Entry{payments, stranger, refunds} {
		require.Equal(t, e.ResourceID, reserve(t, database.App, e)[0].ResourceID)
	}
}

func TestAKeyThatIsGivenTwiceGoesToTheEarlierEntry(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	shop := uuid.New()
	first, second := entry(shop, "k", "1"), entry(shop, "k", "1")
	records := reserve(t, database.App, first, second)
	require.Equal(t, first.ResourceID, records[0].ResourceID)
	require.Equal(t, first.ResourceID, records[1].ResourceID)
}

func TestI4_ARefusedRequestLeavesNoKey(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	shop := uuid.New()
	kept, first := entry(shop, "kept", "1"), entry(shop, "k", "1")
	require.NoError(t, pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
		if _, err := idempotency.Reserve(t.Context(), tx, []idempotency.Entry{kept, first}); err != nil {
			return err
		}
		return idempotency.Release(t.Context(), tx, []idempotency.Entry{first})
	}))
	second := entry(shop, "k", "2")
	require.Equal(t, second.ResourceID, reserve(t, database.App, second)[0].ResourceID)

	err := pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
		stranger := entry(shop, "kept", "1")
		return idempotency.Release(t.Context(), tx, []idempotency.Entry{stranger})
	})
	require.ErrorContains(t, err, "0 of 1", "only what this request reserved is released")
}

func TestI4_AnUnfinishedReservationIsWaitedFor(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	shop := uuid.New()
	first, second := entry(shop, "k", "1"), entry(shop, "k", "1")
	holder, err := database.App.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(context.Background()) }()
	_, err = idempotency.Reserve(t.Context(), holder, []idempotency.Entry{first})
	require.NoError(t, err)

	err = pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
		if _, err := tx.Exec(t.Context(), "SET LOCAL lock_timeout = '20ms'"); err != nil {
			return err
		}
		_, err := idempotency.Reserve(t.Context(), tx, []idempotency.Entry{second})
		return err
	})
	require.True(t, postgres.IsLockConflict(err), "%v", err)

	var waiter errgroup.Group
	var records []idempotency.Record
	waiter.Go(func() (err error) {
		records, err = tryReserve(t.Context(), database.App, second)
		return err
	})
	require.NoError(t, holder.Commit(t.Context()))
	require.NoError(t, waiter.Wait())
	require.Equal(t, first.ResourceID, records[0].ResourceID, "seen by the second statement")
}

func TestI4_TheFirstAnswerStays(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	first, open := entry(uuid.New(), "k", "1"), entry(uuid.New(), "k", "1")
	reserve(t, database.App, first, open)
	store := func(body string) error {
		return pgx.BeginFunc(t.Context(), database.App, func(tx pgx.Tx) error {
			ids := []uuid.UUID{first.ResourceID, uuid.New()}
			if err := idempotency.LockByResource(t.Context(), tx, ids); err != nil {
				return err
			}
			return idempotency.StoreAnswers(t.Context(), tx, []idempotency.Answer{
				{ResourceID: ids[0], Status: 201, Body: []byte(body)},
				{ResourceID: ids[1], Status: 201, Body: []byte("a payment without a key")},
			})
		})
	}
	require.NoError(t, store(`{"state":"captured"} `))
	require.NoError(t, store(`{"state":"failed"}`))
	records := reserve(t, database.App, entry(first.MerchantID, "k", "1"), entry(open.MerchantID, "k", "1"))
	require.Equal(t, 201, records[0].Status)
	require.Equal(t, `{"state":"captured"} `, string(records[0].Body), "byte for byte")
	require.False(t, records[1].Answered())
	require.Nil(t, records[1].Body)
}

func TestEverythingWorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	database := newDatabase(t)
	address, err := url.Parse(database.AppURL)
	require.NoError(t, err)
	query := address.Query()
	query.Set("default_query_exec_mode", "exec")
	address.RawQuery = query.Encode()
	pool, err := postgres.Open(t.Context(), address.String(), postgres.PoolOptions{})
	require.NoError(t, err)
	defer pool.Close()
	first := entry(uuid.New(), "k", "1")
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if _, err := idempotency.Reserve(t.Context(), tx, []idempotency.Entry{first}); err != nil {
			return err
		}
		if err := idempotency.LockByResource(t.Context(), tx, []uuid.UUID{first.ResourceID}); err != nil {
			return err
		}
		return idempotency.StoreAnswers(t.Context(), tx, []idempotency.Answer{{ResourceID: first.ResourceID, Status: 201, Body: []byte("{}")}})
	}))
	again := entry(first.MerchantID, "k", "2")
	record := reserve(t, pool, again)[0]
	require.Equal(t, "{}", string(record.Body))
	require.Equal(t, []string{"amount"}, differences(t, record, again))
	database.SetNow(t, 2*window)
	swept, err := idempotency.Sweeper{Pool: pool, Window: window, Log: zap.NewNop()}.Sweep(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, swept)
}
