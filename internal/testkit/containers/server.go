// Package containers runs the servers that tests need in Docker containers.
//
//	Docker ──> postgres, apache/kafka ──> a port on the Docker host
//
// They are the images that people deploy, so tests on them show what tests on the
// machine's own binaries cannot. A container is removed with Stop. One whose process
// was killed is removed by testcontainers' own cleaner, a container itself, unless
// TESTCONTAINERS_RYUK_DISABLED switched it off.
package containers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
)

const (
	// answerWait bounds asking whether there is an engine: an address of the
	// environment may lead nowhere.
	answerWait = 5 * time.Second
	// startWait bounds creating a container and its server's start. Before it an
	// image may have to be pulled, for which there is no bound.
	startWait = 2 * time.Minute
	// stopWait bounds the removal of a container.
	stopWait = 30 * time.Second
	// wordsWait bounds reading the log of a server that did not start.
	wordsWait = 5 * time.Second
	// logMax, in bytes, is how much of its log is read, and lastWordsMax how much of
	// that is quoted.
	logMax       = 1 << 20
	lastWordsMax = 4 << 10
)

// ErrNoEngine means that no Docker engine answers.
var ErrNoEngine = errors.New("no Docker engine answers")

// Server is a server that runs in a container.
type Server struct {
	// Image is the image's name.
	Image string
	// Addr is the superuser's URL of PostgreSQL, or Kafka's bootstrap address.
	Addr string

	container testcontainers.Container
}

// Check returns ErrNoEngine, wrapped with the reason, when no engine answers.
func Check(ctx context.Context) error {
	quiet()
	ctx, cancel := context.WithTimeout(ctx, answerWait)
	defer cancel()
	provider, err := testcontainers.NewDockerProvider()
	if err == nil {
		err = provider.Health(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoEngine, err)
	}
	return nil
}

// Stop removes the container and its data, which needs no orderly end. It does so
// also when ctx is done, and may be called more than once.
func (s *Server) Stop(ctx context.Context) error { return remove(ctx, s.container) }

func remove(ctx context.Context, container testcontainers.Container) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	return testcontainers.TerminateContainer(container, testcontainers.StopContext(ctx), testcontainers.StopTimeout(0))
}

// failed removes a container that did not become a server, and adds to the error
// what the server itself said. There is none when creating it failed.
func failed(ctx context.Context, image string, container testcontainers.Container, err error) error {
	err = fmt.Errorf("starting a container of %s: %w", image, err)
	words := lastWords(ctx, container)
	if len(words) > 0 {
		err = fmt.Errorf("%w; its log ends:\n%s", err, words)
	}
	return errors.Join(err, remove(ctx, container))
}

func lastWords(ctx context.Context, container testcontainers.Container) []byte {
	if container == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), wordsWait)
	defer cancel()
	logs, err := container.Logs(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = logs.Close() }()
	words, _ := io.ReadAll(io.LimitReader(logs, logMax))
	return words[max(0, len(words)-lastWordsMax):]
}

// imageOr returns the image that the environment names, else the usual one.
func imageOr(name, usual string) string {
	if image := os.Getenv(name); image != "" {
		return image
	}
	return usual
}

// quiet switches off testcontainers' account of each step. What goes wrong is in
// the errors.
var quiet = sync.OnceFunc(func() { log.SetDefault(log.NewNoopLogger()) })
