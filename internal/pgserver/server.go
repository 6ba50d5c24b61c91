// Package pgserver runs a real PostgreSQL server of our own for the demo, the
// tests and the benchmarks.
//
//	the machine's binaries, else a download ──> initdb ──> server on 127.0.0.1
//
// The server is private (a random password, a free loopback port, no unix
// socket), durable like a real one (fsync on), and temporary: it ends with its
// parent, however that ends, and its data goes with it. Nothing that must be
// kept belongs into it.
package pgserver

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/payonce/payonce/internal/leash"
)

const (
	// startWait bounds the time from starting the server to its first answer.
	// It is one second on an idle machine; a loaded one may need many.
	startWait = 60 * time.Second
	// stopGrace is how long an immediate shutdown may take. The server itself
	// kills what is left of its sessions after five seconds.
	stopGrace = 10 * time.Second
	// startTries: a port that was free may be taken before the server binds it.
	startTries = 3
	// answerInterval is between two looks whether the server answers yet.
	answerInterval = 20 * time.Millisecond
	// lastWordsMax, in bytes, is how much of its log a failed server may quote.
	lastWordsMax = 4 << 10
	// superuser is the name initdb gives to the first role.
	superuser = "postgres"
)

// Options change what Start does. The zero value suits demo and tests.
type Options struct {
	// Download takes the downloaded build, version DownloadedMajor, even where
	// the machine has its own binaries.
	Download bool
	// Settings are server settings by name, which win over the defaults.
	Settings map[string]string
	// Restartable allows Crash and StartAgain. Its data stay until Stop, also when
	// it ends by itself.
	Restartable bool
}

// Server is a running server.
type Server struct {
	*Admin
	cluster cluster
	process *leash.Process
}

// errPortTaken means that somebody bound the port between our look and our use.
var errPortTaken = errors.New("the port was taken meanwhile")

// Start initialises and starts a server and returns once it answers and the two
// roles of payonce exist. It takes one to two seconds, a first download more.
// The server stops with Stop, when ctx is done, or when this process ends.
// As root, server and initdb run as the user nobody, because PostgreSQL refuses
// to run as root.
func Start(ctx context.Context, o Options) (*Server, error) {
	account, err := serverAccount()
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := startOnce(ctx, account, o)
		if err == nil {
			context.AfterFunc(ctx, s.Stop)
			return s, nil
		}
		if !errors.Is(err, errPortTaken) || try == startTries {
			return nil, fmt.Errorf("starting PostgreSQL: %w", err)
		}
	}
}

func startOnce(ctx context.Context, account account, o Options) (*Server, error) {
	folder, err := account.makeFolder()
	if err != nil {
		return nil, err
	}
	held, err := leash.Hold(folder)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	c := cluster{folder: folder, leash: held, account: account, password: rand.Text(), settings: o.Settings, keep: o.Restartable}
	s, err := c.setUp(ctx, o)
	if err != nil {
		held.Release()
		return nil, err
	}
	return s, nil
}

// PID is the process id of the server.
func (s *Server) PID() int { return s.process.PID() }

// Ended is closed when the server has ended and, unless it is restartable, its data
// is gone.
func (s *Server) Ended() <-chan struct{} { return s.process.Ended() }

// Stop ends all sessions, stops the server and removes its data. It returns when
// that is done, and may be called more than once.
func (s *Server) Stop() {
	s.process.Stop()
	s.cluster.leash.Release()
}
