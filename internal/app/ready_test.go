package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/testkit"
)

// becomes asks for the service's readiness until it has the status and a text with the
// words, and returns the text. One look is not enough: an answer that takes a busy
// machine longer than readiness may take is a no.
func (s serving) becomes(t *testing.T, status int, words string) string {
	t.Helper()
	for until := time.Now().Add(time.Minute); ; {
		got, text := s.admin(t, "/readyz")
		if got == status && strings.Contains(text, words) {
			return text
		}
		require.True(t, time.Now().Before(until), "it is %d: %s", got, text)
	}
}

func TestO5_AServiceWithAllItsPartsIsReady(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for _, s := range []serving{start(t, b, app.Intake), start(t, b, app.Relay), start(t, b, app.Worker), start(t, b, app.Reconciler)} {
		s.becomes(t, http.StatusOK, "")
	}
}

func TestO5_ABrokerThatLacksATopicMakesRelayAndWorkerUnready(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := "PAYONCE_TOPIC_PREFIX=other"
	relay, worker := start(t, b, app.Relay, other), start(t, b, app.Worker, other)
	intake, reconciler := start(t, b, app.Intake, other), start(t, b, app.Reconciler, other)
	for _, s := range []serving{relay, worker} {
		s.becomes(t, http.StatusServiceUnavailable, "topics: missing: other.requests, other.events, other.dead-letters; run `payctl topics create`\n")
		status, _ := s.admin(t, "/livez")
		require.Equal(t, http.StatusOK, status)
	}
	for _, s := range []serving{intake, reconciler} {
		s.becomes(t, http.StatusOK, "")
	}
	topics, err := app.CreateTopics(t.Context(), append(b.environ, other), 4, 0)
	require.NoError(t, err)
	require.Equal(t, []string{"other.requests", "other.events", "other.dead-letters"}, topics)
	for _, s := range []serving{relay, worker} {
		s.becomes(t, http.StatusOK, "")
	}
	details, err := kadm.NewClient(b.broker.Client(t)).ListTopics(t.Context(), topics...)
	require.NoError(t, err)
	require.Len(t, details["other.requests"].Partitions, 4)
}

func TestO5_ASilentBrokerChangesNoReadiness(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	services := []serving{start(t, b, app.Relay), start(t, b, app.Worker)}
	services[0].becomes(t, http.StatusOK, "") // one has heard the broker, one has not
	b.broker.Fake.Close()
	for _, s := range services {
		s.becomes(t, http.StatusOK, "")
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
	text := intake.becomes(t, http.StatusServiceUnavailable, "database: ")
	require.NotContains(t, text, b.App.Config().ConnConfig.Password)
	status, _ := intake.admin(t, "/livez")
	require.Equal(t, http.StatusOK, status)
	_, err = superuser.Exec(t.Context(), "ALTER DATABASE "+name+" ALLOW_CONNECTIONS true")
	require.NoError(t, err)
	intake.becomes(t, http.StatusOK, "")
}
