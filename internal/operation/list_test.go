package operation_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// fill puts a merchant's payments into the tables without their way through them, one
// in a second, of which every hundredth has failed and one is unknown. Triggers are
// off, because a million accepted and settled payments would take an hour.
func (b *bench) fill(count int) uuid.UUID {
	b.t.Helper()
	merchant := fixture.Merchant(b.t, b.App)
	for _, sql := range []string{
		"ALTER TABLE payment DISABLE TRIGGER USER; ALTER TABLE operation DISABLE TRIGGER USER",
		fmt.Sprintf(`INSERT INTO payment (id, merchant_id, invoice_id, payment_type, external_reference, amount_minor, currency, state,
			trace_parent, correlation_id, idempotency_key, created_at)
		SELECT ('0190a1b2-c3d4-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, '%s', 'INV-' || n %% 10, 'invoice', 'PO-' || n %% 10, 1000, 'TRY',
			CASE WHEN n = 7 THEN 'unknown' WHEN n %% 100 = 0 THEN 'failed' ELSE 'captured' END, 't', 'c', 'k',
			timestamptz '2026-01-01 00:00:00Z' + n * interval '1 second'
		FROM generate_series(1, %d) n`, merchant, count),
		`INSERT INTO operation (id, payment_id, kind, provider_account, amount_minor, currency, state, next_check_at)
		SELECT id, id, 'charge', 'card', amount_minor, currency, CASE state WHEN 'captured' THEN 'succeeded' ELSE state END,
			CASE state WHEN 'unknown' THEN created_at END FROM payment`,
		"ALTER TABLE payment ENABLE TRIGGER USER; ALTER TABLE operation ENABLE TRIGGER USER",
	} {
		_, err := b.Owner.Exec(b.t.Context(), sql)
		require.NoError(b.t, err)
	}
	return merchant
}

func (b *bench) list(f operation.ListFilter) ([]payment.View, bool) {
	b.t.Helper()
	page, more, err := operation.List(b.t.Context(), b.App, f)
	require.NoError(b.t, err)
	return page, more
}

// all reads page after page.
func (b *bench) all(f operation.ListFilter) []uuid.UUID {
	b.t.Helper()
	var ids []uuid.UUID
	for {
		page, more := b.list(f)
		for _, v := range page {
			ids = append(ids, v.ID)
		}
		if !more {
			return ids
		}
		last := page[len(page)-1]
		f.After = &operation.Place{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

func ids(payments []operation.NewPayment) []uuid.UUID {
	all := make([]uuid.UUID, len(payments))
	for i, p := range payments {
		all[i] = p.PaymentID
	}
	return all
}

func TestAListShowsEachPaymentOfTheMerchantOnceNewestFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payments := fixture.AcceptMany(t, b.App, 25)
	fixture.AcceptMany(t, b.App, 3) // another merchant's
	merchant := payments[0].MerchantID
	want := ids(payments)
	slices.Reverse(want)
	for _, limit := range []int{1, 7, 24, 25, 26, operation.ListPageMax} {
		require.Equal(t, want, b.all(operation.ListFilter{MerchantID: merchant, Limit: limit}), "pages of %d", limit)
	}
	page, more := b.list(operation.ListFilter{MerchantID: merchant, Limit: 24})
	require.True(t, more)
	require.Equal(t, b.view(payments[24]), page[0], "the same as when it is looked at alone")
	page, more = b.list(operation.ListFilter{MerchantID: uuid.New(), Limit: 24})
	require.Empty(t, page)
	require.False(t, more)
}

func TestAListIsNarrowedByInvoiceReferenceStateAndTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	merchant := b.fill(1000)
	count := func(f operation.ListFilter) int {
		f.MerchantID, f.Limit = merchant, 100
		return len(b.all(f))
	}
	at := func(second int) time.Time {
		return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
	}
	require.Equal(t, 1000, count(operation.ListFilter{}))
	require.Equal(t, 10, count(operation.ListFilter{State: payment.StateFailed}))
	require.Equal(t, 1, count(operation.ListFilter{State: payment.StateUnknown}))
	require.Zero(t, count(operation.ListFilter{State: payment.StateCanceled}))
	require.Equal(t, 100, count(operation.ListFilter{InvoiceID: "INV-7"}))
	require.Equal(t, 1, count(operation.ListFilter{InvoiceID: "INV-7", State: payment.StateUnknown}))
	require.Equal(t, 100, count(operation.ListFilter{ExternalReference: "PO-0"}))
	require.Equal(t, 10, count(operation.ListFilter{ExternalReference: "PO-0", State: payment.StateFailed}))
	require.Zero(t, count(operation.ListFilter{ExternalReference: "PO-none"}))
	require.Equal(t, 10, count(operation.ListFilter{CreatedFrom: at(991)}), "at or after")
	require.Equal(t, 9, count(operation.ListFilter{CreatedBefore: at(10)}), "before")
	require.Equal(t, 10, count(operation.ListFilter{CreatedFrom: at(1), CreatedBefore: at(101), InvoiceID: "INV-3"}))
}

func TestAPageStandsStillWhilePaymentsAreAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	payments := fixture.AcceptMany(t, b.App, 10)
	merchant := payments[0].MerchantID
	first, more := b.list(operation.ListFilter{MerchantID: merchant, Limit: 5})
	require.True(t, more)
	behind := operation.ListFilter{MerchantID: merchant, Limit: 5, After: &operation.Place{CreatedAt: first[4].CreatedAt, ID: first[4].ID}}
	before, _ := b.list(behind)
	for i := range 10 {
		fixture.Accept(t, b.App, fixture.WithInvoice(merchant, fmt.Sprint("NEW-", i)))
	}
	after, more := b.list(behind)
	require.False(t, more)
	require.Equal(t, before, after)
}

// plan is what EXPLAIN says of one node and those below.
type plan struct {
	NodeType string `json:"Node Type"`
	Hit      int    `json:"Shared Hit Blocks"`
	Read     int    `json:"Shared Read Blocks"`
	Removed  int    `json:"Rows Removed by Filter"`
	Plans    []plan `json:"Plans"`
}

func (p plan) walk(visit func(plan)) {
	visit(p)
	for _, below := range p.Plans {
		below.walk(visit)
	}
}

// requireCost runs a statement that reads fewer blocks than most, no table from end to
// end, and no row that it does not show.
func requireCost(t *testing.T, conn *pgxpool.Conn, execute string, most int, name string) {
	t.Helper()
	var explained []byte
	require.NoError(t, conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+execute).Scan(&explained), name)
	var roots []struct{ Plan plan }
	require.NoError(t, json.Unmarshal(explained, &roots))
	root := roots[0].Plan
	require.Less(t, root.Hit+root.Read, most, "%s: %s", name, explained)
	root.walk(func(p plan) {
		require.NotEqual(t, "Seq Scan", p.NodeType, name)
		require.Zero(t, p.Removed, "%s reads what it does not show: %s", name, explained)
	})
}

// TestAPageCostsTheSameWhateverTheFilter plans the statement while the tables are empty,
// as services do that have just been installed, and uses that plan when they are full.
func TestAPageCostsTheSameWhateverTheFilter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	conn, err := b.App.Acquire(t.Context())
	require.NoError(t, err)
	defer conn.Release()
	listSQL := b.listStatement(conn.Conn())
	_, err = conn.Exec(t.Context(), "SET plan_cache_mode = force_generic_plan; PREPARE list AS "+listSQL)
	require.NoError(t, err)
	execute := func(merchant uuid.UUID, states, invoice, reference, from, before string) string {
		return fmt.Sprintf("EXECUTE list ('%s', '{%s}', '%s', '%s', '%s', '%s', '%s', 101)",
			merchant, states, invoice, reference, from, before, uuid.Nil)
	}
	const every, never, always = "created,processing,pending,unknown,captured,failed,canceled", "0001-01-01 00:00:00Z", "9999-12-31 00:00:00Z"
	_, err = conn.Exec(t.Context(), execute(uuid.Nil, every, "", "", never, always))
	require.NoError(t, err)
	merchant := b.fill(60_000)
	for name, run := range map[string]string{
		"everything":          execute(merchant, every, "", "", never, always),
		"one state, frequent": execute(merchant, "captured", "", "", never, always),
		"one state, rare":     execute(merchant, "unknown", "", "", never, always),
		"one state, none":     execute(merchant, "canceled", "", "", never, always),
		"an invoice":          execute(merchant, every, "INV-7", "", never, always),
		"an invoice, rare":    execute(merchant, "unknown", "INV-7", "", never, always),
		"an invoice, none":    execute(merchant, "failed", "INV-7", "", never, always),
		"a reference, rare":   execute(merchant, "unknown", "", "PO-7", never, always),
		"long ago":            execute(merchant, every, "", "", never, "2026-01-01 00:01:00Z"),
		"long ago, a state":   execute(merchant, "failed", "", "", "2026-01-01 00:00:00Z", "2026-01-01 00:05:00Z"),
	} {
		// A page of 101, found and looked up in three more trees of up to four levels.
		requireCost(t, conn, run, 1500, name)
	}
}

// listStatement is the statement as the package sends it.
func (b *bench) listStatement(conn *pgx.Conn) string {
	b.t.Helper()
	_, _, err := operation.List(b.t.Context(), conn, operation.ListFilter{})
	require.NoError(b.t, err)
	var sql string
	require.NoError(b.t, conn.QueryRow(b.t.Context(),
		"SELECT statement FROM pg_prepared_statements WHERE statement LIKE '%AS page%' OR statement LIKE '%page AS%' LIMIT 1").Scan(&sql))
	return strings.TrimSpace(sql)
}
