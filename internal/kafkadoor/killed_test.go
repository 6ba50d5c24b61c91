package kafkadoor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/accept"
	"github.com/payonce/payonce/internal/kafkadoor"
	"github.com/payonce/payonce/internal/postgres"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/pkg/event"
)

// What a child process is told. The test binary is its program: with these set it is
// a door, and nothing else.
const (
	childDatabaseEnv = "KAFKADOOR_TEST_CHILD_DATABASE"
	childBrokersEnv  = "KAFKADOOR_TEST_CHILD_BROKERS"
	childPrefixEnv   = "KAFKADOOR_TEST_CHILD_PREFIX"
)

func TestMain(m *testing.M) {
	if os.Getenv(childDatabaseEnv) == "" {
		testkit.Main(m)
		return
	}
	log := zap.Must(zap.NewDevelopment(zap.IncreaseLevel(zap.ErrorLevel)))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := runChild(ctx, log)
	stop()
	if err != nil {
		log.Fatal("answering commands", zap.Error(err))
	}
}

func runChild(ctx context.Context, log *zap.Logger) error {
	pool, err := postgres.Open(ctx, os.Getenv(childDatabaseEnv), postgres.PoolOptions{ConnsMax: accept.ConnsMax + 1})
	if err != nil {
		return err
	}
	defer pool.Close()
	prefix := os.Getenv(childPrefixEnv)
	committer := accept.NewCommitter(pool, accept.Rules{Topic: event.TopicsWithPrefix(prefix).Requests, Source: event.Source("test")})
	go committer.Run(ctx)
	return kafkadoor.New(kafkadoor.Config{
		Brokers: strings.Split(os.Getenv(childBrokersEnv), ","), TopicPrefix: prefix, Source: event.Source("test"), Log: log,
	}, pool, committer).Run(ctx)
}

// spawn starts a door as a process of its own. kill ends it at whatever it is doing.
func (h *hall) spawn(t *testing.T) (kill func()) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childDatabaseEnv+"="+h.AppURL, childPrefixEnv+"="+h.prefix,
		childBrokersEnv+"="+strings.Join(h.broker.Addrs, ","))
	child.Stderr = os.Stderr
	require.NoError(t, child.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = child.Wait()
	}()
	kill = func() {
		_ = child.Process.Kill()
		<-ended
	}
	t.Cleanup(kill)
	return kill
}

func TestT3_P1_ADoorThatIsKilledAnswersEveryCommandAndChargesNoneTwice(t *testing.T) {
	t.Parallel()
	h := newHall(t, testkit.NewFakeBroker(t))
	const commands, kills = 200, 3
	for i := range commands {
		r := h.shop.command(fmt.Sprintf("k-%d", i), body(fmt.Sprintf("INV-%d", i), "10.00"))
		r.Key = fmt.Appendf(nil, "order %d", i)
		h.shop.send(t, r)
	}
	answers := map[string]map[string]bool{} // ids, by command
	payments := map[string]string{}
	hear := func(atLeast int) {
		for len(answers) < atLeast {
			a := h.shop.hear(t, 1)[0]
			view, _ := a.accepted(t)
			key := a.headers["causationid"]
			if answers[key] == nil {
				answers[key] = map[string]bool{}
			}
			answers[key][a.headers["ce_id"]] = true
			if first, known := payments[key]; known {
				require.Equal(t, first, view.ID.String())
			}
			payments[key] = view.ID.String()
		}
	}
	for n := range kills {
		kill := h.spawn(t)
		hear(1 + n*commands/kills)
		kill()
	}
	h.spawn(t)
	hear(commands)
	require.Equal(t, commands, h.payments(t))
	for key, ids := range answers {
		require.Len(t, ids, 1, "one id, however often %s was answered", key)
	}
}
