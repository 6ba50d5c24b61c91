package intake_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/httpapi"
	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// shop is a service with tables of its own in payonce's database, and a role of its
// own that is a member of payonce_app. One of its tables has the name of one of
// payonce's.
type shop struct {
	*testkit.Database
	pool     *pgxpool.Pool
	intake   *intake.Intake
	merchant uuid.UUID
	apiKey   string
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{Database: testkit.NewDatabase(t)}
	s.pool = s.connect(t)
	_, err := s.pool.Exec(t.Context(), "CREATE TABLE shop.sale (id text PRIMARY KEY); CREATE TABLE shop.payment (note text)")
	require.NoError(t, err)
	s.intake, err = intake.New(intake.Config{Cell: "test", Accounts: map[string]string{"card": "simulated"}})
	require.NoError(t, err)
	created, key, err := merchant.NewDirectory(s.App).Create(t.Context(), t.Name(), "card")
	require.NoError(t, err)
	s.merchant, s.apiKey = created.ID, key
	return s
}

// connect makes the service's role, and its schema, which comes first in its path.
func (s *shop) connect(t *testing.T) *pgxpool.Pool {
	t.Helper()
	database, err := url.Parse(testkit.SuperuserURL(t))
	require.NoError(t, err)
	database.Path = "/" + s.App.Config().ConnConfig.Database
	admin, err := pgx.Connect(t.Context(), database.String())
	require.NoError(t, err)
	role := "shop_of_" + s.App.Config().ConnConfig.Database
	run := func(sql string) {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), strings.ReplaceAll(sql, "ROLE_NAME", role))
		require.NoError(t, err)
	}
	run("CREATE ROLE ROLE_NAME LOGIN PASSWORD 'shop'; GRANT payonce_app TO ROLE_NAME;" +
		"CREATE SCHEMA shop AUTHORIZATION ROLE_NAME; ALTER ROLE ROLE_NAME SET search_path = shop, public")
	t.Cleanup(func() {
		run("DROP OWNED BY ROLE_NAME CASCADE; DROP ROLE ROLE_NAME")
		require.NoError(t, admin.Close(context.WithoutCancel(t.Context())))
	})
	database.User = url.UserPassword(role, "shop")
	pool, err := pgxpool.New(t.Context(), database.String())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func (s *shop) command(t *testing.T, key, invoice string) intake.Command {
	t.Helper()
	amount, err := money.Parse("10.00", "TRY")
	require.NoError(t, err)
	return intake.Command{
		MerchantID: s.merchant, IdempotencyKey: key, InvoiceID: invoice, PaymentType: "order", Amount: amount, PaymentMethod: "tok_visa",
	}
}

// sell writes the shop's own row and submits, in one transaction.
func (s *shop) sell(t *testing.T, sale string, c intake.Command) (intake.Result, error) {
	t.Helper()
	var result intake.Result
	err := pgx.BeginFunc(t.Context(), s.pool, func(tx pgx.Tx) error {
		_, err := tx.Exec(t.Context(), "INSERT INTO sale (id) VALUES ($1)", sale)
		require.NoError(t, err)
		result, err = s.intake.Submit(t.Context(), tx, c)
		return err
	})
	return result, err
}

func (s *shop) count(t *testing.T, table string) int {
	t.Helper()
	var n int
	require.NoError(t, s.pool.QueryRow(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	return n
}

// serve starts the HTTP door of the same database.
func (s *shop) serve(t *testing.T) (door *httptest.Server, committer *accept.Committer) {
	t.Helper()
	committer = accept.NewCommitter(s.App, accept.Rules{Topic: event.TopicsWithPrefix("payonce").Requests, Source: event.Source("test")})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		committer.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	door = httptest.NewServer(httpapi.New(httpapi.Config{
		Pool: s.App, Merchants: merchant.NewDirectory(s.App), Committer: committer, Log: zap.NewNop(),
	}))
	t.Cleanup(door.Close)
	return door, committer
}

type answered struct {
	status   int
	replayed bool
	body     string
}

func (s *shop) post(t *testing.T, door *httptest.Server, key, invoice string) answered {
	t.Helper()
	body := fmt.Sprintf(`{"invoiceId":%q,"paymentType":"order","amount":"10.0","currency":"TRY","paymentMethod":"tok_visa"}`, invoice)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, door.URL+"/v1/payments", strings.NewReader(body))
	require.NoError(t, err)
	request.Header = http.Header{
		"Authorization": {"Bearer " + s.apiKey}, "Idempotency-Key": {key}, "Content-Type": {"application/json"},
	}
	response, err := door.Client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answered{response.StatusCode, response.Header.Get("Idempotent-Replayed") == "true", string(text)}
}
