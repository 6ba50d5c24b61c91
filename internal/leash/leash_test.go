package leash_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payonce/payonce/internal/leash"
)

// parentEnv makes this test binary the parent of a program instead of a test.
const parentEnv = "LEASH_TEST_PARENT_FOLDER"

// alive is the file descriptor that the grandchild holds open while it lives.
const alive = 3

func TestMain(m *testing.M) {
	if folder := os.Getenv(parentEnv); folder != "" {
		beParent(folder)
		return
	}
	goleak.VerifyTestMain(m)
}

// beParent starts a program on the leash and waits to be killed.
func beParent(folder string) {
	command := exec.Command("sleep", "600")
	command.ExtraFiles = []*os.File{os.NewFile(alive, "alive")}
	if _, err := leash.Start(command, leash.Options{Signal: syscall.SIGTERM, Grace: time.Second, Folder: folder}); err != nil {
		panic(err)
	}
	fmt.Println("started")
	select {}
}

func TestAProgramEndsWithAParentThatWasKilled(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			folder := filepath.Join(t.TempDir(), "folder")
			require.NoError(t, os.Mkdir(folder, 0o700))
			ours, theirs, err := os.Pipe()
			require.NoError(t, err)
			parent := exec.Command(os.Args[0])
			parent.Env = append(os.Environ(), parentEnv+"="+folder)
			parent.ExtraFiles = []*os.File{theirs}
			output, err := parent.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, parent.Start())
			require.NoError(t, theirs.Close())
			_, err = bufio.NewReader(output).ReadString('\n')
			require.NoError(t, err)

			require.NoError(t, parent.Process.Signal(signal))
			require.Error(t, parent.Wait())

			// The pipe ends when the last process that holds it is gone.
			_, err = io.ReadAll(ours)
			require.NoError(t, err)
			require.Eventually(t, func() bool { return missing(folder) }, 30*time.Second, 10*time.Millisecond)
		})
	}
}

func TestStopReturnsWhenTheProgramAndItsFolderAreGone(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	p, err := leash.Start(exec.Command("sleep", "600"), leash.Options{Signal: syscall.SIGTERM, Grace: time.Minute, Folder: folder})
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
	folder := filepath.Join(t.TempDir(), "folder")
	require.NoError(t, os.Mkdir(folder, 0o700))
	p, err := leash.Start(exec.Command("true"), leash.Options{Signal: syscall.SIGTERM, Grace: time.Minute, Folder: folder})
	require.NoError(t, err)
	<-p.Ended()
	require.True(t, missing(folder))
	require.ErrorIs(t, p.Signal(os.Interrupt), os.ErrProcessDone)
}

func TestAProgramThatIsMissingIsAnErrorAndLeavesTheFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	_, err := leash.Start(exec.Command("/no/such/program"), leash.Options{Signal: syscall.SIGTERM, Folder: folder})
	require.ErrorIs(t, err, os.ErrNotExist)
	require.False(t, missing(folder))
}

func missing(path string) bool {
	_, err := os.Stat(path)
	return os.IsNotExist(err)
}
