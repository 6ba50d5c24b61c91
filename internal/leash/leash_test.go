package leash_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/leash"
)

// These make this test binary the parent of a program instead of a test.
const (
	parentEnv = "LEASH_TEST_PARENT_FOLDER"
	howEnv    = "LEASH_TEST_PARENT_HOW"
)

// alive is the file descriptor that the grandchildren hold open while they live.
const alive = 3

func TestMain(m *testing.M) {
	if folder := os.Getenv(parentEnv); folder != "" {
		beParent(folder)
		return
	}
	goleak.VerifyTestMain(m)
}

// beParent holds a folder and a program that says when it runs, and waits to be
// killed.
func beParent(folder string) {
	endOnInterrupt()
	l, err := leash.Hold(folder)
	must(err)
	// The program has a child, which writes into the folder as long as it can.
	command := exec.Command("/bin/sh", "-c", `(while :; do n=$((n % 99 + 1)); echo x >written.$n; done) & trap "kill $!; exit" TERM; echo runs; wait`)
	command.Dir = folder
	command.Stdout = os.Stdout
	command.ExtraFiles = []*os.File{os.NewFile(alive, "alive")}
	switch os.Getenv(howEnv) {
	case "nothing runs":
		must(l.Run(context.Background(), exec.Command("true")))
		fmt.Println("runs")
	case "run":
		must(l.Run(context.Background(), command))
	case "start":
		_, err := l.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: time.Second})
		must(err)
	}
	select {}
}

// endOnInterrupt is for tests that a shell runs in the background: such a shell has
// interrupts ignored by all that it starts.
func endOnInterrupt() {
	if !signal.Ignored(os.Interrupt) {
		return
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(1)
	}()
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func TestAProgramAndItsFolderEndWithAParentThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"start", "run", "nothing runs"} {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
			t.Run(how+", "+signal.String(), func(t *testing.T) {
				t.Parallel()
				folder := newFolder(t)
				ours, theirs, err := os.Pipe()
				require.NoError(t, err)
				parent := exec.Command(os.Args[0])
				parent.Env = append(os.Environ(), parentEnv+"="+folder, howEnv+"="+how)
				parent.ExtraFiles = []*os.File{theirs}
				output, err := parent.StdoutPipe()
				require.NoError(t, err)
				require.NoError(t, parent.Start())
				require.NoError(t, theirs.Close())
				line, err := bufio.NewReader(output).ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, "runs\n", line)

				require.NoError(t, parent.Process.Signal(signal))
				require.Error(t, parent.Wait())

				// The pipe ends when the last process that holds it is gone.
				_, err = io.ReadAll(ours)
				require.NoError(t, err)
				require.Eventually(t, func() bool { return missing(folder) }, 30*time.Second, 10*time.Millisecond)
			})
		}
	}
}

func TestAFolderIsThereBetweenTwoProgramsAndGoneAfterRelease(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	l, err := leash.Hold(folder)
	require.NoError(t, err)
	command := exec.Command("touch", "made")
	command.Dir = folder
	require.NoError(t, l.Run(t.Context(), command))
	require.False(t, missing(filepath.Join(folder, "made")))
	require.ErrorContains(t, l.Run(t.Context(), exec.Command("false")), "exit status 1")
	require.False(t, missing(folder))
	l.Release()
	require.True(t, missing(folder))
	l.Release()
}

func TestAProgramThatRunsTooLongIsKilledWithItsChildren(t *testing.T) {
	t.Parallel()
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	l, err := leash.Hold("")
	require.NoError(t, err)
	t.Cleanup(l.Release)
	command := exec.Command("/bin/sh", "-c", "sleep 600 & echo runs; wait")
	command.Stdout = theirs
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx, command) }()
	line, err := bufio.NewReader(ours).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "runs\n", line)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.NoError(t, theirs.Close())
	_, err = io.ReadAll(ours)
	require.NoError(t, err, "the child is gone, too")
}

func TestStopReturnsWhenTheProgramAndItsFolderAreGone(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	l, err := leash.Hold(folder)
	require.NoError(t, err)
	p, err := l.Start(exec.Command("sleep", "600"), leash.Options{Signal: syscall.SIGTERM, Grace: time.Minute})
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(p.PID(), 0), "it runs")

	p.Stop()
	require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH)
	require.True(t, missing(folder))
	p.Stop()
}

func TestAProgramThatDoesNotListenIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	ours, theirs, err := os.Pipe()
	require.NoError(t, err)
	command := exec.Command("/bin/sh", "-c", `trap "" TERM; echo deaf; while :; do sleep 600; done`)
	command.Stdout = theirs
	p, err := leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: 10 * time.Millisecond})
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	line, err := bufio.NewReader(ours).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "deaf", strings.TrimSpace(line))

	p.Stop()
	require.ErrorIs(t, syscall.Kill(p.PID(), 0), syscall.ESRCH)
	_, err = io.ReadAll(ours)
	require.NoError(t, err, "the children of the program are gone, too")
}

func TestAProgramThatEndsByItselfIsNoticedAndTakesItsFolderAlong(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	l, err := leash.Hold(folder)
	require.NoError(t, err)
	p, err := l.Start(exec.Command("true"), leash.Options{Signal: syscall.SIGTERM, Grace: time.Minute})
	require.NoError(t, err)
	<-p.Ended()
	require.True(t, missing(folder))
	require.ErrorIs(t, p.Signal(os.Interrupt), os.ErrProcessDone)
}

func TestAProgramThatIsMissingIsAnErrorAndLeavesTheFolder(t *testing.T) {
	t.Parallel()
	folder := newFolder(t)
	l, err := leash.Hold(folder)
	require.NoError(t, err)
	_, err = l.Start(exec.Command("/no/such/program"), leash.Options{Signal: syscall.SIGTERM})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorIs(t, l.Run(t.Context(), exec.Command("/no/such/program")), os.ErrNotExist)
	require.False(t, missing(folder))
	l.Release()
	_, err = leash.Start(exec.Command("/no/such/program"), leash.Options{Signal: syscall.SIGTERM})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func newFolder(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	return folder
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}
