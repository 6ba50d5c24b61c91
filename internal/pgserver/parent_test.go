package pgserver_test

import (
	"context"
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

	"github.com/payonce/payonce/internal/pgserver"
)

// These make this test binary a program that starts a server.
const (
	parentEnv = "PGSERVER_TEST_PARENT"
	umaskEnv  = "PGSERVER_TEST_UMASK"
)

func TestMain(m *testing.M) {
	if os.Getenv(parentEnv) == "" {
		goleak.VerifyTestMain(m)
		return
	}
	if os.Getenv(umaskEnv) != "" {
		syscall.Umask(0o077)
	}
	s, err := pgserver.Start(context.Background(), pgserver.Options{Download: os.Getenv(parentEnv) == "download"})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("PostgreSQL", s.MajorVersion())
	s.Stop()
}

// newParent returns a program that starts the machine's server or the downloaded
// one, says which it is, and stops it.
func newParent(build string, environ ...string) *exec.Cmd {
	parent := exec.Command(os.Args[0])
	parent.Env = append(append(os.Environ(), parentEnv+"="+build), environ...)
	return parent
}

// The test's initdb runs until it is killed, in place of the real one's second.
func TestAParentThatIsKilledDuringInitdbLeavesNothing(t *testing.T) {
	t.Parallel()
	bin, err := os.MkdirTemp("/tmp", "pgserver-test-") //nolint:usetesting // nobody has to get there
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(bin)) })
	require.NoError(t, os.Chmod(bin, 0o755))
	fifo := filepath.Join(bin, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, os.Chmod(fifo, 0o666))
	script(t, bin, "postgres", `echo "postgres (PostgreSQL) 99.0"`)
	// The pipe is open as long as initdb or its child lives.
	script(t, bin, "initdb", `exec 9>`+fifo+`; pwd >&9; (while :; do echo x >data; done) & wait`)

	parent := newParent("machine", "PATH="+bin+":"+os.Getenv("PATH"))
	require.NoError(t, parent.Start())
	pipe, err := os.Open(fifo)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pipe.Close() })
	folder := make([]byte, 1<<10)
	n, err := pipe.Read(folder)
	require.NoError(t, err)
	path := strings.TrimSpace(string(folder[:n]))
	require.DirExists(t, path)

	require.NoError(t, parent.Process.Kill())
	require.Error(t, parent.Wait())
	require.NoError(t, pipe.SetReadDeadline(time.Now().Add(time.Minute))) // an initdb that is left would hold it
	_, err = io.ReadAll(pipe)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := os.Stat(path)
		return os.IsNotExist(err)
	}, 30*time.Second, 10*time.Millisecond)
}

func script(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	require.NoError(t, os.Chmod(path, 0o755)) // for the user nobody
}

// Where root's own folders are closed to the user nobody, and everything that root
// makes is closed too, only PostgreSQL's binaries run as nobody.
func TestAServerStartsWhereHomeIsPrivateAndTheUmaskIsStrict(t *testing.T) {
	t.Parallel()
	for build, majorMin := range map[string]int{"machine": 15, "download": pgserver.DownloadedMajor} {
		t.Run(build, func(t *testing.T) {
			t.Parallel()
			private := t.TempDir()
			require.NoError(t, os.Chmod(private, 0o700))
			cache, err := os.UserCacheDir()
			require.NoError(t, err)
			temp := filepath.Join(private, "odd temp, $x")
			require.NoError(t, os.Mkdir(temp, 0o700))
			output, err := newParent(build, umaskEnv+"=1", "HOME="+private, "XDG_CACHE_HOME="+cache, "TMPDIR="+temp).Output()
			require.NoError(t, err, string(output))
			var major int
			_, err = fmt.Sscanf(string(output), "PostgreSQL %d\n", &major)
			require.NoError(t, err, string(output))
			require.GreaterOrEqual(t, major, majorMin)
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}
