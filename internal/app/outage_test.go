package app_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/config"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
)

// readyBound is far above the 0.8 s that readiness may take, for a busy machine, and
// far below any wait of the database's client.
const readyBound = 4 * time.Second

func TestO5_ServicesOutliveADatabaseThatStoppedOrFellSilent(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	w := b.wired(t)
	services := []serving{start(t, b, app.Intake), start(t, b, app.Relay), start(t, b, app.Worker), start(t, b, app.Reconciler)}
	shop := newClient(t, b, services[0])
	for outage, begin := range map[string]func(){"stopped": func() { w.cut(t) }, "silent": w.silence} {
		begin()
		for _, s := range services {
			began := time.Now()
			status, text := s.admin(t, "/readyz")
			require.Equal(t, http.StatusServiceUnavailable, status, outage)
			require.Contains(t, text, "database: ", outage)
			require.Less(t, time.Since(began), readyBound, outage)
			status, _ = s.admin(t, "/livez")
			require.Equal(t, http.StatusOK, status, outage)
		}
		w.cut(t)
		w.restore(t)
		for _, s := range services {
			s.becomes(t, http.StatusOK, "") // once the pool has got rid of the connections that broke
		}
	}
	// They work as before, and none was started anew.
	status, _ := shop.pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusAccepted, status)
	b.captured(t, 1)
}

func TestO5_AnOlderSchemaMakesUnreadyAndANewerOneDoesNot(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := start(t, b, app.Intake)
	change := func(sql string) {
		_, err := b.Owner.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	change("INSERT INTO payonce_goose_version (version_id, is_applied) VALUES (99999, true)")
	intake.becomes(t, http.StatusOK, "")
	change("DELETE FROM payonce_goose_version WHERE version_id > 1")
	text := intake.becomes(t, http.StatusServiceUnavailable, "payonce_goose_version is at 1")
	require.Contains(t, text, "run `payctl migrate` first")
	status, _ := intake.admin(t, "/livez")
	require.Equal(t, http.StatusOK, status)
}

func TestO5_AServiceThatConnectsAsOwnerOrSuperuserDoesNotStart(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	superuser, err := url.Parse(testkit.SuperuserURL(t))
	require.NoError(t, err)
	superuser.Path = "/" + b.App.Config().ConnConfig.Database
	for role, databaseURL := range map[string]string{"owns tables": b.OwnerURL, "is a superuser": superuser.String()} {
		c, err := config.Load[config.Intake](append(b.environ, "PAYONCE_DATABASE_URL="+databaseURL))
		require.NoError(t, err)
		err = app.Intake(t.Context(), c, zap.NewNop())
		require.ErrorContains(t, err, role)
		require.ErrorContains(t, err, "connect as payonce_app")
	}
}

// Somebody gives the role rights while the services run.
func TestO5_ARoleThatIsGivenTooMuchMakesUnready(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	admin, err := pgx.Connect(t.Context(), testkit.SuperuserURL(t))
	require.NoError(t, err)
	role := "role_of_" + b.App.Config().ConnConfig.Database
	grant := func(sql string) {
		_, err := admin.Exec(context.WithoutCancel(t.Context()), fmt.Sprintf(sql, role))
		require.NoError(t, err)
	}
	grant("CREATE ROLE %s LOGIN PASSWORD 'given' IN ROLE payonce_app")
	t.Cleanup(func() {
		grant("DROP ROLE %s")
		require.NoError(t, admin.Close(context.WithoutCancel(t.Context())))
	})
	database, err := url.Parse(b.AppURL)
	require.NoError(t, err)
	database.User = url.UserPassword(role, "given")
	intake := start(t, b, app.Intake, "PAYONCE_DATABASE_URL="+database.String())
	for _, c := range []struct{ give, take, says string }{
		{"ALTER ROLE %s SUPERUSER", "ALTER ROLE %s NOSUPERUSER", "is a superuser"},
		{"GRANT payonce_owner TO %s", "REVOKE payonce_owner FROM %s", "is a member of payonce_owner"},
	} {
		intake.becomes(t, http.StatusOK, "")
		grant(c.give)
		intake.becomes(t, http.StatusServiceUnavailable, c.says)
		grant(c.take)
	}
}

// The broker takes connections and requests, and answers none.
func TestO5_ABrokerThatStopsAnsweringChangesNoReadiness(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	services := []serving{start(t, b, app.Relay), start(t, b, app.Worker)}
	for _, s := range services {
		s.becomes(t, http.StatusOK, "")
	}
	silence := make(chan struct{})
	t.Cleanup(func() { close(silence) }) // before the services stop
	b.broker.Fake.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		<-silence
		return nil, nil, false
	})
	for _, s := range services {
		began := time.Now()
		_, _ = s.admin(t, "/readyz")
		require.Less(t, time.Since(began), readyBound)
		s.becomes(t, http.StatusOK, "")
	}
}

func TestO5_IntakeTakesPaymentsOnAndAsksNoKafka(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	kafka, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if c, err := kafka.Accept(); err == nil {
			_ = c.Close()
			t.Error("intake asked Kafka")
		}
	}()
	intake := start(t, b, app.Intake, "PAYONCE_KAFKA_BROKERS="+kafka.Addr().String())
	status, _ := newClient(t, b, intake).pay(t, "invoice-1", "10.00")
	require.Equal(t, http.StatusAccepted, status)
	intake.becomes(t, http.StatusOK, "")
	require.NoError(t, kafka.Close())
	<-asked
}

func TestO5_AnOpenBreakerChangesNoReadiness(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	require.NoError(t, b.provider.SetFaults(pspsim.Faults{Rates: pspsim.Rates{Error5xx: 1}}))
	shop := newClient(t, b, start(t, b, app.Intake))
	start(t, b, app.Relay)
	worker := start(t, b, app.Worker)
	for i := range payments {
		status, _ := shop.pay(t, fmt.Sprintf("invoice-%d", i), "10.00")
		require.Equal(t, http.StatusAccepted, status)
	}
	opened := func() bool { return worker.logs.FilterMessage("breaker changed").Len() > 0 }
	require.Eventually(t, opened, time.Minute, 10*time.Millisecond)
	worker.becomes(t, http.StatusOK, "")
}
