// Package leash starts a server program that ends when its parent does.
//
//	parent ──pipe──> watchdog (/bin/sh)
//	   └──starts──> program, in a process group of its own
//
// However the parent ends, SIGKILL included, the program is told to stop, gets a
// bounded time to do so, and its folder is removed. What the program itself has
// started is the program's to end. A Ctrl-C in a terminal reaches the parent only,
// which then stops the program in its own order.
//
// The watchdog is a pipe and ten lines of shell rather than Linux's
// PR_SET_PDEATHSIG, because that one ends with the parent's thread instead of the
// parent, removes no folder, and does not exist on macOS.
package leash

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

//go:embed watchdog.sh
var watchdogScript string

// Options say how a program is stopped and what it leaves behind.
type Options struct {
	// Signal asks the program to stop.
	Signal syscall.Signal
	// Grace is how long Stop waits after Signal before it kills.
	Grace time.Duration
	// Folder is removed once the program has ended. Empty: nothing is removed.
	Folder string
}

// Process is a running program. Its methods may be called from any goroutine.
type Process struct {
	options Options
	command *exec.Cmd
	ended   chan struct{}
}

// Start runs the command. Its output must go to files or nowhere: a program that
// wrote to the parent's own pipe would keep it open after the parent's death.
// On an error nothing runs and the folder is as it was.
func Start(command *exec.Cmd, o Options) (*Process, error) {
	watchdog, line, err := startWatchdog(o)
	if err != nil {
		return nil, err
	}
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		_ = watchdog.Process.Kill()
		_ = watchdog.Wait()
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	// If the watchdog is gone the write fails; the program is then stopped by
	// Stop only, which is no reason to refuse it.
	_, _ = fmt.Fprintln(line, command.Process.Pid)

	p := &Process{options: o, command: command, ended: make(chan struct{})}
	go p.supervise(watchdog, line)
	return p, nil
}

// startWatchdog returns the watchdog and the pipe whose end it waits for.
func startWatchdog(o Options) (*exec.Cmd, io.WriteCloser, error) {
	watchdog := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", strconv.Itoa(int(o.Signal)), o.Folder)
	watchdog.Dir = "/"
	watchdog.Env = []string{"PATH=/usr/bin:/bin"}
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	line, err := watchdog.StdinPipe()
	if err != nil {
		return nil, nil, fmt.Errorf("opening the watchdog's pipe: %w", err)
	}
	if err := watchdog.Start(); err != nil {
		return nil, nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return watchdog, line, nil
}

// supervise reaps the program, then lets the watchdog remove the folder.
func (p *Process) supervise(watchdog *exec.Cmd, line io.WriteCloser) {
	_ = p.command.Wait()
	_, _ = fmt.Fprintln(line, "ended")
	_ = line.Close()
	_ = watchdog.Wait()
	close(p.ended)
}

// PID is the program's process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when the program has ended, on its own or by Stop, and its
// folder is gone.
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
		_ = syscall.Kill(-p.PID(), syscall.SIGKILL)
		<-p.ended
	}
}
