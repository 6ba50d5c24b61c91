package apachekafka

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestANodeIsGoneAfterStopOrWithItsContext(t *testing.T) {
	t.Parallel()
	if err := checkJava(t.Context()); errors.Is(err, ErrUnavailable) && os.Getenv("CI") == "" {
		t.Logf("NO REAL KAFKA: %v", err)
		return
	}
	for name, end := range map[string]func(*Server, context.CancelFunc){
		"stop":    func(s *Server, _ context.CancelFunc) { s.Stop(); s.Stop() },
		"context": func(s *Server, cancel context.CancelFunc) { cancel(); <-s.Ended() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := Start(ctx)
		require.NoError(t, err, name)
		require.NoError(t, syscall.Kill(s.PID(), 0), name)
		end(s, cancel)
		require.ErrorIs(t, syscall.Kill(s.PID(), 0), syscall.ESRCH, name)
		cancel()
	}
}

// macOS has a java that only tells where to get one.
func TestOnlyAJavaThatAnswersWithSeventeenOrMoreCounts(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		usable bool
	}{
		"17":         {`echo 'openjdk version "17.0.15" 2025-04-15' >&2`, true},
		"25":         {`echo 'openjdk version "25" 2025-09-16' >&2`, true},
		"8":          {`echo 'java version "1.8.0_402"' >&2`, false},
		"11":         {`echo 'openjdk version "11.0.22" 2024-01-16' >&2`, false},
		"silent":     {`true`, false},
		"a stub":     {`echo 'Unable to locate a Java Runtime.' >&2; exit 1`, false},
		"its future": {`echo 'openjdk version "99999999999999999999"' >&2`, false},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			program(t, folder, "java", c.script)
			t.Setenv("PATH", folder)
			err := checkJava(t.Context())
			if c.usable {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrUnavailable)
		})
	}
}

func TestAProgramThatHangsOrFailsIsAsGoodAsNone(t *testing.T) {
	folder := t.TempDir()
	program(t, folder, "java", "sleep 600; true") // its child keeps the output open
	program(t, folder, "mvn", "echo 'The JAVA_HOME environment variable is not defined correctly' >&2; exit 1")
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	_, err := version(t.Context(), 50*time.Millisecond, "java", "-version")
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "java -version does not answer within 50ms")

	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	_, err = fetchJars(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "JAVA_HOME")
}

func TestAStopWhileAProgramIsAskedIsNoWordAboutIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := checkJava(ctx)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable)
}

func program(t *testing.T, folder, name, script string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
}

func TestWithoutJavaOrWithoutMavenThereIsNoKafka(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := Start(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)

	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", "")
	_, err = fetchJars(t.Context())
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "Maven")
}

func TestTheVersionIsTheOneInThePom(t *testing.T) {
	t.Parallel()
	require.Equal(t, 1, strings.Count(string(pom), "<version>"+Version+"</version>"))
}
