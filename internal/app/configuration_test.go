package app_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/config"
)

func environ(changes ...string) []string {
	return append([]string{
		"PAYONCE_DATABASE_URL=postgres://payonce_app:pw@127.0.0.1:1/payonce",
		"PAYONCE_KAFKA_BROKERS=127.0.0.1:1",
		"PAYONCE_PROVIDER=card=simulated",
		"PAYONCE_PROVIDER_URL=http://127.0.0.1:1",
	}, changes...)
}

func TestO6_EachServiceChecksItsEnvironment(t *testing.T) {
	t.Parallel()
	for _, s := range app.Services {
		require.NoError(t, s.Check(environ()), s.Name)
		err := s.Check(environ("PAYONCE_TYPO=1"))
		require.ErrorContains(t, err, "PAYONCE_TYPO", s.Name)
		require.Equal(t, app.ExitConfiguration, app.ExitCode(err))
		require.ErrorContains(t, s.Run(t.Context(), environ("PAYONCE_TYPO=1")), "PAYONCE_TYPO", s.Name)
	}
}

func TestO6_ALeaseMustOutlastACallWithItsAllowance(t *testing.T) {
	t.Parallel()
	worker, ok := app.Find("worker")
	require.True(t, ok)
	err := worker.Check(environ("PAYONCE_LEASE=7s", "PAYONCE_PROVIDER_TIMEOUT=5s"))
	require.ErrorContains(t, err, "PAYONCE_LEASE (7s) is too short for PAYONCE_PROVIDER_TIMEOUT (5s): "+
		"the lease (7s) must exceed the calls of an attempt at provider account card plus 2s, 7s in all")
	require.NoError(t, worker.Check(environ("PAYONCE_LEASE=7.001s", "PAYONCE_PROVIDER_TIMEOUT=5s")))

	stripe := []string{"PAYONCE_PROVIDER=card=stripe", "PAYONCE_PROVIDER_KEY=sk_test_1", "PAYONCE_PROVIDER_TIMEOUT=5s"}
	require.ErrorContains(t, worker.Check(environ(append(stripe, "PAYONCE_LEASE=12s")...)), "12s in all", "a charge is prepared and confirmed")
	require.NoError(t, worker.Check(environ(append(stripe, "PAYONCE_LEASE=12.001s")...)))
}

func TestO6_AProviderThatCannotBeCalledIsToldAtStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changes []string
		says    string
	}{
		"no key":         {[]string{"PAYONCE_PROVIDER=card=stripe"}, "provider account card: stripe needs an API key"},
		"no URL":         {[]string{"PAYONCE_PROVIDER_URL=,http://a", "PAYONCE_PROVIDER=card=simulated,b=simulated"}, "simulated needs the provider's URL"},
		"a key too many": {[]string{"PAYONCE_PROVIDER_KEY=sk_test_s3cret"}, "provider account card: simulated takes no API key"},
		"another key":    {[]string{"PAYONCE_PROVIDER=card=stripe", "PAYONCE_PROVIDER_KEY=pk_test_s3cret"}, "must be a secret key"},
		"keys of others": {[]string{"PAYONCE_PROVIDER_KEY=,sk_test_s3cret"}, "PAYONCE_PROVIDER lists 1 accounts and PAYONCE_PROVIDER_KEY 2 keys"},
	} {
		for _, service := range []string{"worker", "reconciler"} {
			s, ok := app.Find(service)
			require.True(t, ok)
			err := s.Check(environ(c.changes...))
			require.ErrorContains(t, err, c.says, name)
			require.NotContains(t, err.Error(), "s3cret")
		}
	}
}

func TestO6_AnUnknownConnectorIsToldWithTheOtherProblems(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"intake", "worker", "reconciler"} {
		s, ok := app.Find(name)
		require.True(t, ok)
		err := s.Check(environ("PAYONCE_PROVIDER=card=strype", "PAYONCE_CELL=?"))
		require.ErrorContains(t, err, `PAYONCE_PROVIDER: "strype" is no connector; known are simulated`, name)
		require.ErrorContains(t, err, "PAYONCE_CELL", name)
	}
}

func TestExitCodesSayWhoHasToActNext(t *testing.T) {
	t.Parallel()
	require.Equal(t, app.ExitOK, app.ExitCode(nil))
	require.Equal(t, app.ExitFailed, app.ExitCode(errors.New("failed")))
	require.Equal(t, app.ExitConfiguration, app.ExitCode(fmt.Errorf("worker: %w", &config.Error{})))
	require.Equal(t, app.ExitUnavailable, app.ExitCode(fmt.Errorf("kafka: %w", app.ErrUnavailable)))
	for _, s := range app.Services {
		err := s.Run(context.Background(), environ()) // nobody listens on port 1
		require.Equal(t, app.ExitUnavailable, app.ExitCode(err), "%s: %v", s.Name, err)
		require.NotContains(t, err.Error(), "pw@")
	}
}

func TestAConnectorIsExplained(t *testing.T) {
	t.Parallel()
	text, err := app.Explain("simulated-nokeys")
	require.NoError(t, err)
	require.Contains(t, text, "idempotency key: no")
	_, err = app.Explain("strype")
	require.ErrorContains(t, err, "known are")
}
