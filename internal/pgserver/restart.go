package pgserver

import (
	"context"
	"errors"
	"fmt"
)

// errNotRestartable keeps a caller from crashing a server whose data would go with it.
var errNotRestartable = errors.New("the server was not started as Restartable")

// Crash ends the server and its sessions at once, without a checkpoint, as the
// death of its machine does but for the kernel's cache: what was committed is in the
// log only, and StartAgain recovers it. It returns when the server is gone; its
// address refuses connections then.
func (s *Server) Crash() error {
	if !s.cluster.keep {
		return errNotRestartable
	}
	s.process.Stop() // its signal is SIGQUIT, PostgreSQL's immediate shutdown
	return nil
}

// StartAgain starts a server that crashed, on its own data and its own address, and
// returns once it has recovered and answers. It is not for use beside Stop.
func (s *Server) StartAgain(ctx context.Context) error {
	if !s.cluster.keep {
		return errNotRestartable
	}
	again, err := s.cluster.start(ctx)
	if err != nil {
		return fmt.Errorf("starting PostgreSQL again: %w", err)
	}
	s.process = again.process
	return nil
}
