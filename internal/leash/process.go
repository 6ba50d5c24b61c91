package leash

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Options say how a program is stopped.
type Options struct {
	// Signal asks the program to stop.
	Signal syscall.Signal
	// Grace is how long Stop waits after Signal before it kills.
	Grace time.Duration
	// Keep lets the leash go on when the program ends, so that another one can be
	// started in its folder. Who sets it calls Release.
	Keep bool
}

// Process is a running program. Its methods may be called from any goroutine.
type Process struct {
	options Options
	command *exec.Cmd
	line    io.Writer // to the watchdog
	ended   chan struct{}
	err     error // what the program ended with, once ended is closed
}

// wait reaps the program and tells the watchdog that its pid may be anyone's now.
func (p *Process) wait() {
	p.err = p.command.Wait()
	_, _ = fmt.Fprintln(p.line, "ended")
}

// PID is the program's process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the program has ended, on its own or by Stop, and the folder
// of its leash is gone, unless it is kept.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Signal sends a signal to the program alone, for example os.Kill in a test of
// its sudden death. It returns os.ErrProcessDone when the program has ended.
func (p *Process) Signal(signal os.Signal) error { return p.command.Process.Signal(signal) }

// Stop ends the program and returns when it is gone. Calling it again is harmless.
func (p *Process) Stop() {
	_ = p.Signal(p.options.Signal)
	grace := time.NewTimer(p.options.Grace)
	defer grace.Stop()
	select {
	case <-p.ended:
	case <-grace.C:
		p.kill()
		<-p.ended
	}
}

// kill ends the program and all that it started in its group.
func (p *Process) kill() { _ = syscall.Kill(-p.PID(), syscall.SIGKILL) }
