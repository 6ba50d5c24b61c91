package shop_test

import (
	"context"
	_ "embed"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/examples/shop"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/intake"
	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

func TestMain(m *testing.M) { testkit.Main(m) }

//go:embed setup.sql
var setupSQL string

// open sets a shop up as setup.sql says, in a database of its own. Roles belong to the
// whole server, so that each test's shop has another role.
func open(t *testing.T) *shop.Shop {
	t.Helper()
	database := testkit.NewDatabase(t)
	address, err := url.Parse(testkit.SuperuserURL(t))
	require.NoError(t, err)
	address.Path = "/" + database.App.Config().ConnConfig.Database
	admin, err := pgx.Connect(t.Context(), address.String())
	require.NoError(t, err)
	role := "shop_of_" + database.App.Config().ConnConfig.Database
	run := func(sql string) {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), sql)
		require.NoError(t, err)
	}
	setup := strings.NewReplacer("ROLE shop", "ROLE "+role, "TO shop", "TO "+role, "AUTHORIZATION shop", "AUTHORIZATION "+role).Replace(setupSQL)
	run(setup + ";ALTER ROLE " + role + " PASSWORD 'shop'")
	t.Cleanup(func() {
		run("DROP OWNED BY " + role + " CASCADE; DROP ROLE " + role)
		require.NoError(t, admin.Close(context.WithoutCancel(t.Context())))
	})
	address.User = url.UserPassword(role, "shop")
	pool, err := pgxpool.New(t.Context(), address.String())
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	door, err := intake.New(intake.Config{})
	require.NoError(t, err)
	return &shop.Shop{Pool: pool, Intake: door, Merchant: fixture.Merchant(t, database.App)}
}

func order(t *testing.T) shop.Order {
	t.Helper()
	id, err := uuid.NewV7()
	require.NoError(t, err)
	price, err := money.Parse("12.50", "EUR")
	require.NoError(t, err)
	return shop.Order{ID: id, Item: "a lamp", Price: price, PaymentMethod: "tok_visa"}
}

func count(t *testing.T, s *shop.Shop, sql string) int {
	t.Helper()
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestI1_AnOrderAndItsPaymentCommitTogether(t *testing.T) {
	t.Parallel()
	s, o := open(t), order(t)
	view, err := s.Place(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, "12.50", view.Amount)
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM customer_order o JOIN payment p ON p.id = o.payment_id"))
}

func TestI12_ABasketThatIsOldIsPaidAtItsFirstClick(t *testing.T) {
	t.Parallel()
	s, o := open(t), order(t)
	o.ID = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057") // of 2023
	first, err := s.Place(t.Context(), o)
	require.NoError(t, err)
	again, err := s.Place(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM idempotency_key k JOIN customer_order o ON o.payment_key::text = k.key"))
}

func TestI1_AnOrderThatCannotBePaidIsNotThereEither(t *testing.T) {
	t.Parallel()
	s, o := open(t), order(t)
	o.PaymentMethod = "tok\n"
	_, err := s.Place(t.Context(), o)
	var invalid *intake.InvalidError
	require.ErrorAs(t, err, &invalid)
	require.Zero(t, count(t, s, "SELECT count(*) FROM customer_order"))
	require.Zero(t, count(t, s, "SELECT count(*) FROM payment"))
	require.Zero(t, count(t, s, "SELECT count(*) FROM idempotency_key"))

	o.PaymentMethod = "tok_visa"
	_, err = s.Place(t.Context(), o)
	require.NoError(t, err, "the order can still be placed")
}

func TestT1_ManyClicksAreOneOrderAndOnePayment(t *testing.T) {
	t.Parallel()
	s, o := open(t), order(t)
	const clicks = 20
	views := make(chan payment.View, clicks)
	var customers sync.WaitGroup
	for range clicks {
		customers.Go(func() {
			view, err := s.Place(t.Context(), o)
			if err != nil {
				t.Error(err)
			}
			views <- view
		})
	}
	customers.Wait()
	first := <-views
	for range clicks - 1 {
		require.Equal(t, first.ID, (<-views).ID)
	}
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM customer_order"))
	require.Equal(t, 1, count(t, s, "SELECT count(*) FROM payment"))
}
