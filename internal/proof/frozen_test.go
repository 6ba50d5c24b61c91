package proof_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
)

// A worker claims, its machine stands still, and everyone else goes on: the lease
// runs out, the operation is taken over, asked about and sent by another worker.
// Then the machine wakes up, with a claim that has committed and a request to send.
func TestP1_W1_AWorkerThatWasFrozenAfterItsClaimSendsNothingWhenItWakesUp(t *testing.T) {
	t.Parallel()
	db, broker := testkit.NewDatabase(t), testkit.NewFakeBroker(t)
	sim, err := pspsim.New(pspsim.Options{})
	require.NoError(t, err)
	provider := httptest.NewServer(sim)
	t.Cleanup(provider.Close)
	processes := build(t, []string{
		"PAYONCE_DATABASE_URL=" + db.AppURL,
		"PAYONCE_KAFKA_BROKERS=" + strings.Join(broker.Addrs, ","),
		"PAYONCE_TOPIC_PREFIX=" + strings.TrimSuffix(broker.Topics.Requests, ".requests"),
		"PAYONCE_PROVIDER=" + fixture.Account + "=simulated",
		"PAYONCE_PROVIDER_URL=" + provider.URL,
		"PAYONCE_PROVIDER_TIMEOUT=1s",
		"PAYONCE_LEASE=3500ms",
	})
	between := newStall(t, db.AppURL, moment{statement: "SET state = 'processing'"})
	frozen := processes.service("worker", "PAYONCE_DATABASE_URL="+between.url)
	payment := fixture.Accept(t, db.App)
	_, err = db.App.Exec(t.Context(), "UPDATE operation SET next_attempt_at = payonce_now()")
	require.NoError(t, err)

	between.await(t)
	frozen.freeze(t)
	between.release()
	is := func(sql string) func() bool {
		return func() bool {
			var yes bool
			require.NoError(t, db.App.QueryRow(t.Context(), sql, payment.OperationID).Scan(&yes))
			return yes
		}
	}
	require.Eventually(t, is("SELECT state = 'processing' AND fence = 1 FROM operation WHERE id = $1"), patience, 5*time.Millisecond)
	processes.service("reconciler")
	processes.service("worker")
	require.Eventually(t, is("SELECT state = 'succeeded' FROM operation WHERE id = $1"), patience, 20*time.Millisecond)

	frozen.thaw(t)
	require.Eventually(t, is("SELECT not_sent FROM attempt WHERE operation_id = $1 AND fence = 1"), patience, 20*time.Millisecond,
		"it did not say that it had sent nothing")
	counts := sim.Oracle().References[payment.OperationID.String()]
	require.Equal(t, pspsim.Counts{Charged: 1, Sends: 1}, counts)
}

// freeze is a SIGSTOP, and returns once the process stands still.
func (s *process) freeze(t *testing.T) {
	t.Helper()
	require.NoError(t, s.command.Process.Signal(syscall.SIGSTOP))
	var status syscall.WaitStatus
	for !status.Stopped() {
		_, err := syscall.Wait4(s.command.Process.Pid, &status, syscall.WUNTRACED, nil)
		require.True(t, err == nil || errors.Is(err, syscall.EINTR), "%v", err)
	}
}

func (s *process) thaw(t *testing.T) {
	t.Helper()
	require.NoError(t, s.command.Process.Signal(syscall.SIGCONT))
}
