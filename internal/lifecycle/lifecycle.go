// Package lifecycle runs the parts of a process side by side and stops them one
// after the other.
//
//	SIGINT, SIGTERM ──> Signals ──> Run ──> first part stops, then the next, …
//
// Every long-running part has one shape: it works until its context ends, then
// finishes the step in hand and returns. Its promise: when one part ends, for
// whatever reason, all are stopped in their order, within a time that each of
// them names, and the first error is what the process ends with.
package lifecycle

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// exitInterrupted is what a shell reports for a program that Ctrl-C ended.
const exitInterrupted = 130

// Signals returns a context that ends with the first SIGINT or SIGTERM. The
// second one ends the process at once, whatever it is doing. stop ends the
// context and gives the signals back.
func Signals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	// Room for both: one that comes before we look must not be lost.
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stopped := make(chan struct{})
	go func() {
		defer signal.Stop(signals)
		for _, act := range []func(){cancel, func() { os.Exit(exitInterrupted) }} {
			select {
			case <-signals:
				act()
			case <-stopped:
				return
			}
		}
	}()
	return ctx, sync.OnceFunc(func() {
		cancel()
		close(stopped)
	})
}

// Part is one long-running part of a process.
type Part struct {
	Name string
	// Run works until ctx ends, then stops in good order. A return before that is
	// the end of the whole process.
	Run func(ctx context.Context) error
	// StopWait is how long Run may go on once its context has ended.
	StopWait time.Duration
}

// Run runs the parts until ctx ends or one of them returns. Then it stops them in
// the order given, each only when the one before has stopped, so that a part can
// rely on those behind it until its own end. It returns the first error: of a part
// that ended by itself, of one that stopped badly, or of one that did not stop in
// time and was left behind.
func Run(ctx context.Context, parts ...Part) error {
	ended := make(chan *running, len(parts))
	all := make([]*running, len(parts))
	for i, p := range parts {
		all[i] = start(ctx, p, ended)
	}
	var first error
	select {
	case <-ctx.Done():
	case r := <-ended:
		first = r.early()
	}
	for _, r := range all {
		if err := r.stop(); first == nil {
			first = err
		}
	}
	return first
}

// running is a part at work.
type running struct {
	part   Part
	cancel context.CancelFunc
	done   chan struct{} // closed after err is set
	err    error
}

// start gives the part a context that ends at its turn, not with the process's.
func start(ctx context.Context, p Part, ended chan<- *running) *running {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{part: p, cancel: cancel, done: make(chan struct{})}
	go func() {
		r.err = p.Run(ctx)
		close(r.done)
		ended <- r
	}()
	return r
}

// early is the error of a part that ended and was not asked to.
func (r *running) early() error {
	if r.err == nil {
		return fmt.Errorf("%s ended by itself", r.part.Name)
	}
	return fmt.Errorf("%s: %w", r.part.Name, r.err)
}

func (r *running) stop() error {
	r.cancel()
	timer := time.NewTimer(r.part.StopWait)
	defer timer.Stop()
	select {
	case <-r.done:
	case <-timer.C:
		return fmt.Errorf("%s did not stop within %s", r.part.Name, r.part.StopWait)
	}
	if r.err != nil {
		return fmt.Errorf("stopping %s: %w", r.part.Name, r.err)
	}
	return nil
}
