// Package apachekafka runs a real Apache Kafka node for tests, without Docker.
//
//	Maven Central's jars ──> user's cache ──> java kafka.Kafka on 127.0.0.1
//
// The node is temporary: it ends with its parent, however that ends, and its data
// goes with it.
package apachekafka

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// startWait bounds the time from starting the node to its first answer. It
	// is three seconds on an idle machine; a loaded one may need many.
	startWait = 90 * time.Second
	// stopGrace is how long an orderly shutdown may take.
	stopGrace = 20 * time.Second
	// answerInterval is between two looks whether the node answers yet.
	answerInterval = 100 * time.Millisecond
	// startTries: a port that was free may be taken before the node binds it.
	startTries = 3
	// lastWordsMax, in bytes, is how much of its log a failed node may quote.
	lastWordsMax = 4 << 10
)

// errEnded may mean that somebody bound a port between our look and our use. The
// node would say so in its log, but its jars come without one.
var errEnded = errors.New("the node ended")

// Server is a running node.
type Server struct {
	process *leash.Process
	addr    string
}

// Start fetches Kafka if this user never did (some seconds), starts a node and
// returns once it answers. It returns ErrUnavailable, wrapped with what is
// missing, on a machine without a JVM of version 17 or, for the fetch, Maven.
// The node stops with Stop, when ctx is done, or when this process ends.
func Start(ctx context.Context) (*Server, error) {
	if err := checkJava(ctx); err != nil {
		return nil, err
	}
	jars, err := fetchJars(ctx)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := startOnce(ctx, jars)
		if err == nil {
			context.AfterFunc(ctx, s.Stop)
			return s, nil
		}
		if !errors.Is(err, errEnded) || try == startTries {
			return nil, fmt.Errorf("starting Apache Kafka: %w", err)
		}
	}
}

// Addr is the node's bootstrap address.
func (s *Server) Addr() string { return s.addr }

// PID is the process id of the node.
func (s *Server) PID() int { return s.process.PID() }

// Ended is closed when the node has ended and its data is gone.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// Stop stops the node and removes its data. It returns when that is done, and may
// be called more than once.
func (s *Server) Stop() { s.process.Stop() }

func startOnce(ctx context.Context, jars string) (*Server, error) {
	folder, err := os.MkdirTemp("", "payonce-kafka-")
	if err != nil {
		return nil, fmt.Errorf("creating the node's folder: %w", err)
	}
	held, err := leash.Hold(folder)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	n := node{jars: jars, folder: folder, leash: held}
	s, err := n.setUp(ctx)
	if err != nil {
		held.Release()
		return nil, err
	}
	return s, nil
}
