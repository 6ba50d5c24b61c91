package app_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/testkit"
)

func TestO5_AServiceWithAllItsPartsIsReady(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, s := range []serving{start(t, b, app.Intake), start(t, b, app.Relay), start(t, b, app.Worker), start(t, b, app.Reconciler)} {
		status, text := s.admin(t, "/readyz")
		require.Equal(t, http.StatusOK, status, text)
	}
}

func TestO5_ABrokerThatLacksATopicMakesRelayAndWorkerUnready(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := "PAYONCE_TOPIC_PREFIX=other"
	relay, worker := start(t, b, app.Relay, other), start(t, b, app.Worker, other)
	intake, reconciler := start(t, b, app.Intake, other), start(t, b, app.Reconciler, other)
	for _, s := range []serving{relay, worker} {
		status, text := s.admin(t, "/readyz")
		require.Equal(t, http.StatusServiceUnavailable, status)
		require.Equal(t, "topics: missing: other.requests, other.events, other.dead-letters; run `payctl topics create`\n", text)
		status, _ = s.admin(t, "/livez")
		require.Equal(t, http.StatusOK, status)
	}
	for _, s := range []serving{intake, reconciler} {
		status, text := s.admin(t, "/readyz")
		require.Equal(t, http.StatusOK, status, text)
	}
	topics, err := app.CreateTopics(t.Context(), append(b.environ, other), 4, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"other.requests", "other.events", "other.dead-letters"}, topics)
	for _, s := range []serving{relay, worker} {
		status, text := s.admin(t, "/readyz")
		require.Equal(t, http.StatusOK, status, text)
	}
	details, err := kadm.NewClient(b.broker.Client(t)).ListTopics(t.Context(), topics...)
	require.NoError(t, err)
	require.Len(t, details["other.requests"].Partitions, 4)
}

func TestO5_ASilentBrokerChangesNoReadiness(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	services := []serving{start(t, b, app.Relay), start(t, b, app.Worker)}
	status, _ := services[0].admin(t, "/readyz") // one has heard the broker, one has not
	require.Equal(t, http.StatusOK, status)
	b.broker.Fake.Close()
	for _, s := range services {
		status, text := s.admin(t, "/readyz")
		require.Equal(t, http.StatusOK, status, text)
	}
}

func TestO5_ADatabaseThatIsGoneMakesUnreadyAndEndsNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	intake := start(t, b, app.Intake)
	superuser, err := pgx.Connect(t.Context(), testkit.SuperuserURL(t))
	require.NoError(t, err)
	defer superuser.Close(t.Context())
	name := pgx.Identifier{b.App.Config().ConnConfig.Database}.Sanitize()
	_, err = superuser.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS false")
	require.NoError(t, err)
	_, err = superuser.Exec(t.Context(),
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", b.App.Config().ConnConfig.Database)
	require.NoError(t, err)
	status, text := intake.admin(t, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, text, "database: ")
	require.NotContains(t, text, b.App.Config().ConnConfig.Password)
	status, _ = intake.admin(t, "/livez")
	require.Equal(t, http.StatusOK, status)
	_, err = superuser.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	require.NoError(t, err)
	status, text = intake.admin(t, "/readyz")
	require.Equal(t, http.StatusOK, status, text)
}
