package app_test

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/pgserver"
)

// The load around an outage, and the bounds of what a client sees of it.
const (
	callersAtOnce = 16
	// loadStep payments are taken on before, between and after the outages.
	loadStep = 60
	// probes ask while PostgreSQL is away.
	probes = 48
	// answerBound is RequestWaitMax with room for a machine that does other things:
	// what is asked for is that nobody hangs.
	answerBound = 20 * time.Second
)

// stoppable is a bundle on a PostgreSQL of its own, which can be stopped.
type stoppable struct {
	*bundle
	server *pgserver.Server
	shop   client
	load   *load
}

func newStoppable(t *testing.T) *stoppable {
	t.Helper()
	server, err := pgserver.Start(t.Context(), pgserver.Options{Restartable: true})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	database, err := server.CreateDatabase(t.Context(), "stoppable")
	require.NoError(t, err)
	b := newBundle(t)
	b.environ = append(b.environ, "PAYONCE_DATABASE_URL="+database.AppURL, "PAYONCE_MIGRATE_DATABASE_URL="+database.OwnerURL)
	require.NoError(t, app.Migrate(t.Context(), b.environ))
	b.App, err = pgxpool.New(t.Context(), database.OwnerURL)
	require.NoError(t, err)
	t.Cleanup(b.App.Close)
	intake := start(t, b, app.Intake)
	start(t, b, app.Relay)
	start(t, b, app.Worker)
	start(t, b, app.Reconciler)
	s := &stoppable{bundle: b, server: server, shop: newClient(t, b, intake)}
	s.load = startLoad(t, s.shop)
	return s
}

func TestI14_APostgreSQLThatCrashesUnderLoadLeavesEveryPaymentWholeAndOnce(t *testing.T) {
	t.Parallel()
	s := newStoppable(t)
	var asked []string
	for outage := range 2 {
		s.load.awaitMore(t, loadStep)
		require.NoError(t, s.server.Crash())
		asked = append(asked, s.unavailable(t, fmt.Sprintf("crash-%d", outage))...)
		require.NoError(t, s.server.StartAgain(t.Context()))
		require.Zero(t, s.count(t, "SELECT count(*) FROM payment WHERE invoice_id LIKE 'crash-%'"), "503 came before anything was written")
		s.load.awaitMore(t, loadStep) // the service recovers by itself
	}
	s.endsWhole(t, asked)
}

func TestI14_APostgreSQLThatHangsUnderLoadLeavesEveryPaymentWholeAndOnce(t *testing.T) {
	t.Parallel()
	s := newStoppable(t)
	s.load.awaitMore(t, loadStep)
	wake := s.freeze(t)
	asked := s.unavailable(t, "hang")
	wake()
	s.load.awaitMore(t, loadStep)
	s.endsWhole(t, asked)
}

// freeze stops every process of the server where it is: connections stay open, new
// ones are taken by the kernel, and nobody answers. What it returns lets them go on.
func (s *stoppable) freeze(t *testing.T) (wake func()) {
	t.Helper()
	session, err := pgx.Connect(t.Context(), s.server.URL())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, session.Close(context.Background())) })
	frozen := []int{s.server.PID()}
	require.NoError(t, syscall.Kill(s.server.PID(), syscall.SIGSTOP)) // first, or it starts more of them
	rows, err := session.Query(t.Context(), "SELECT pid FROM pg_stat_activity ORDER BY pid = pg_backend_pid()")
	require.NoError(t, err)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	require.NoError(t, err)
	for _, pid := range pids {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}
	frozen = append(frozen, pids...)
	wake = func() {
		for _, pid := range frozen {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been woken before
		}
	}
	t.Cleanup(wake) // a server that is frozen cannot be stopped
	return wake
}

// unavailable asks for payments while there is no database, and returns the invoices.
func (s *stoppable) unavailable(t *testing.T, prefix string) []string {
	t.Helper()
	invoices, began := make([]string, probes), time.Now()
	answers := make(chan string, probes)
	for i := range invoices {
		invoices[i] = prefix + "-" + strconv.Itoa(i)
		go func() { answers <- s.probe(t.Context(), invoices[i]) }()
	}
	for range invoices {
		require.Equal(t, "503 Service Unavailable, Retry-After 1, application/problem+json", <-answers)
	}
	slowest := time.Since(began)
	require.Less(t, slowest, answerBound)
	t.Logf("%s: %d requests answered 503, the slowest after %s", prefix, probes, slowest)
	return invoices
}

// probe describes the answer to one request.
func (s *stoppable) probe(ctx context.Context, invoice string) string {
	response, err := send(ctx, http.MethodPost, s.shop.url, order(invoice, "10.00"), s.shop.header("key-"+invoice))
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	return fmt.Sprintf("%s, Retry-After %s, %s", response.Status, response.Header.Get("Retry-After"), response.Header.Get("Content-Type"))
}

// endsWhole ends the load, asks again for what was refused, and looks at all that
// there is.
func (s *stoppable) endsWhole(t *testing.T, asked []string) {
	t.Helper()
	taken := s.load.end(t)
	for _, invoice := range asked {
		status, view := s.shop.pay(t, invoice, "10.00")
		require.Contains(t, []int{http.StatusAccepted, http.StatusCreated}, status, invoice)
		taken[view.ID.String()] = invoice
	}
	require.Equal(t, len(taken), s.count(t, "SELECT count(*) FROM payment"), "payments that nobody was told of")
	for what, sql := range halves {
		require.Zero(t, s.count(t, sql), what)
	}
	s.captured(t, len(taken))
	oracle := s.provider.Oracle()
	require.Len(t, oracle.References, len(taken))
	for reference, counts := range oracle.References {
		require.Equal(t, 1, counts.Charged, reference)
	}
	for what, sql := range halves {
		require.Zero(t, s.count(t, sql), what)
	}
	t.Logf("%d payments, each whole and charged once", len(taken))
}

// halves count what one transaction should have written together, and did not.
var halves = map[string]string{
	"keys without a payment": `SELECT count(*) FROM idempotency_key k
		WHERE NOT EXISTS (SELECT FROM payment p WHERE p.id = k.resource_id)`,
	"payments without their key": `SELECT count(*) FROM payment p
		WHERE (SELECT count(*) FROM idempotency_key k WHERE k.resource_id = p.id) <> 1`,
	"payments without their operation": `SELECT count(*) FROM payment p
		WHERE (SELECT count(*) FROM operation o WHERE o.payment_id = p.id) <> 1`,
	"payments without their invoice": `SELECT count(*) FROM payment p
		WHERE (SELECT count(*) FROM invoice_identity i WHERE i.payment_id = p.id) <> 1`,
	"payments whose history does not begin with their acceptance": `SELECT count(*) FROM payment p
		WHERE (SELECT count(*) FROM payment_history h WHERE h.payment_id = p.id AND h.to_state = 'created' AND h.from_state IS NULL) <> 1`,
	"payments that are not what their operation is": `SELECT count(*) FROM payment p JOIN operation o ON o.payment_id = p.id
		WHERE p.state::text <> CASE o.state::text WHEN 'succeeded' THEN 'captured' ELSE o.state::text END`,
	"captured payments that are not in the books": `SELECT count(*) FROM payment p JOIN operation o ON o.payment_id = p.id
		WHERE p.state = 'captured' AND (SELECT count(*) FROM ledger_entry e WHERE e.operation_id = o.id) <> 2`,
}

func (s *stoppable) count(t *testing.T, sql string) int {
	t.Helper()
	var n int
	require.NoError(t, s.App.QueryRow(t.Context(), sql).Scan(&n), sql)
	return n
}
