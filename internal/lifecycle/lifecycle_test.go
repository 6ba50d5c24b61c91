package lifecycle_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/lifecycle"
)

// childEnv makes this test binary a process that only waits for signals.
const childEnv = "PAYONCE_TEST_LIFECYCLE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		ctx, stop := lifecycle.Signals(context.Background())
		defer stop()
		fmt.Println("ready")
		<-ctx.Done()
		fmt.Println("stopping")
		select {} // a clean-up that hangs
	}
	goleak.VerifyTestMain(m)
}

// journal is what happened, in order.
type journal struct {
	sync.Mutex
	entries []string
}

func (j *journal) add(entry string) {
	j.Lock()
	defer j.Unlock()
	j.entries = append(j.entries, entry)
}

// part works until it is stopped and then takes as long as another goroutine
// needs to be scheduled.
func (j *journal) part(name string, started chan<- string, result error) lifecycle.Part {
	return lifecycle.Part{Name: name, StopWait: time.Minute, Run: func(ctx context.Context) error {
		started <- name
		<-ctx.Done()
		j.add(name + " stops")
		defer j.add(name + " has stopped")
		return result
	}}
}

func TestPartsStopInOrderEachAfterTheOneBefore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var j journal
	started := make(chan string, 3)
	go func() {
		for range 3 {
			<-started
		}
		cancel()
	}()
	err := lifecycle.Run(ctx, j.part("consumer", started, nil), j.part("sends", started, nil), j.part("applier", started, nil))
	require.NoError(t, err)
	require.Equal(t, []string{
		"consumer stops", "consumer has stopped", "sends stops", "sends has stopped", "applier stops", "applier has stopped",
	}, j.entries)
}

func TestAPartThatEndsEndsAllAndTheFirstErrorWins(t *testing.T) {
	t.Parallel()
	broken, later := errors.New("broken"), errors.New("later")
	for _, c := range []struct {
		ends error
		want string
	}{{broken, "relay: broken"}, {nil, "relay ended by itself"}} {
		var j journal
		started := make(chan string, 1)
		ends := lifecycle.Part{Name: "relay", StopWait: time.Minute, Run: func(context.Context) error {
			<-started
			return c.ends
		}}
		err := lifecycle.Run(t.Context(), j.part("admin", started, later), ends)
		require.EqualError(t, err, c.want)
		require.Equal(t, []string{"admin stops", "admin has stopped"}, j.entries)
	}
}

func TestAPartThatStopsBadlyIsTold(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var j journal
	started := make(chan string, 2)
	err := lifecycle.Run(ctx, j.part("worker", started, errors.New("lost")), j.part("applier", started, nil))
	require.EqualError(t, err, "stopping worker: lost")
	require.Contains(t, j.entries, "applier has stopped")
}

func TestAPartThatDoesNotStopIsLeftBehind(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var j journal
	started, release := make(chan string, 1), make(chan struct{})
	defer close(release)
	hangs := lifecycle.Part{Name: "worker", StopWait: time.Millisecond, Run: func(context.Context) error {
		<-release
		return nil
	}}
	err := lifecycle.Run(ctx, hangs, j.part("applier", started, nil))
	require.EqualError(t, err, "worker did not stop within 1ms")
	require.Equal(t, []string{"applier stops", "applier has stopped"}, j.entries)
}

func TestTheFirstSignalAsksAndTheSecondEndsTheProcess(t *testing.T) {
	t.Parallel()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childEnv+"=1")
	output, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewScanner(output)
	for _, line := range []string{"ready", "stopping"} {
		require.True(t, lines.Scan())
		require.Equal(t, line, lines.Text())
		require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	}
	var exit *exec.ExitError
	require.ErrorAs(t, child.Wait(), &exit)
	require.Equal(t, 130, exit.ExitCode())
}
