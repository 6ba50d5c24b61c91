// Package leash holds programs and their folder, which end when their parent does.
//
//	parent ──pipe──> watchdog ──removes──> folder
//	   └──starts──> gate ──becomes──> program, in a process group of its own
//
// However the parent ends, SIGKILL included, the program that runs is told to stop,
// gets a bounded time to do so, and the folder is removed. A Ctrl-C in a terminal
// reaches the parent only, which then stops the program in its own order.
//
// Watchdog and gate are pipes and some lines of shell rather than Linux's
// PR_SET_PDEATHSIG, because that one ends with the parent's thread instead of the
// parent, removes no folder, and does not exist on macOS.
package leash

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
)

//go:embed watchdog.sh
var watchdogScript string

// Leash holds one folder and one program after the other.
type Leash struct {
	watchdog *exec.Cmd
	line     io.WriteCloser
	release  sync.Once
}

// Hold takes a folder that exists on a leash: it is removed by Release, or when this
// process ends without it. An empty path stands for no folder.
func Hold(folder string) (*Leash, error) {
	watchdog := exec.Command("/bin/sh", "-c", watchdogScript, "watchdog", folder)
	watchdog.Dir = "/"
	watchdog.Env = []string{"PATH=/usr/bin:/bin"}
	watchdog.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	line, err := watchdog.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening the watchdog's pipe: %w", err)
	}
	if err := watchdog.Start(); err != nil {
		return nil, fmt.Errorf("starting the watchdog: %w", err)
	}
	return &Leash{watchdog: watchdog, line: line}, nil
}

// Release removes the folder and returns when it is gone. It does not stop a
// program that runs. Calling it again is harmless.
func (l *Leash) Release() {
	l.release.Do(func() {
		_ = l.line.Close()
		_ = l.watchdog.Wait()
	})
}

// Run runs a program to its end and returns what exec.Cmd.Wait does. When ctx ends
// first, the program and what it started are killed. The leash goes on.
func (l *Leash) Run(ctx context.Context, command *exec.Cmd) error {
	p, err := l.start(command, Options{Signal: syscall.SIGKILL})
	if err != nil {
		return err
	}
	go func() {
		p.wait()
		close(p.ended)
	}()
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
		p.kill()
		<-p.ended
		return ctx.Err()
	}
}

// Start starts the program that the leash ends with: once it has ended, on its own
// or by Stop, the folder is removed, unless Options.Keep says otherwise. Its output must go to files or nowhere: a
// program that wrote to the parent's own pipe would keep it open after the parent's
// death. It has no standard input. On an error nothing runs, and the leash goes on.
func (l *Leash) Start(command *exec.Cmd, o Options) (*Process, error) {
	p, err := l.start(command, o)
	if err != nil {
		return nil, err
	}
	go func() {
		p.wait()
		if !o.Keep {
			l.Release()
		}
		close(p.ended)
	}()
	return p, nil
}

// Start starts a program on a leash without a folder.
func Start(command *exec.Cmd, o Options) (*Process, error) {
	l, err := Hold("")
	if err != nil {
		return nil, err
	}
	p, err := l.Start(command, o)
	if err != nil {
		l.Release()
		return nil, err
	}
	return p, nil
}

// start lets the program begin only when the watchdog knows its pid. Without the
// gate: a busy parent starts PostgreSQL, is killed before it writes the pid down, and
// the server runs for ever.
func (l *Leash) start(command *exec.Cmd, o Options) (*Process, error) {
	gate, err := putBehindGate(command)
	if err != nil {
		return nil, err
	}
	defer func() { _ = gate.Close() }()
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	// If the watchdog is gone the write fails; the program is then stopped by
	// this process only, which is no reason to refuse it.
	_, _ = fmt.Fprintln(l.line, command.Process.Pid, int(o.Signal))
	_, _ = fmt.Fprintln(gate, "open")
	return &Process{options: o, command: command, line: l.line, ended: make(chan struct{})}, nil
}

// putBehindGate makes the command a shell that becomes the program once a line
// comes, and ends when its parent does before that.
func putBehindGate(command *exec.Cmd) (io.WriteCloser, error) {
	if command.Err == nil {
		_, command.Err = exec.LookPath(command.Path) // the shell would only exit
	}
	if command.Err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, command.Err)
	}
	command.Args = append([]string{"sh", "-c", `read -r open && exec "$0" "$@" </dev/null`, command.Path}, command.Args[1:]...)
	command.Path = "/bin/sh"
	gate, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("opening the gate: %w", err)
	}
	return gate, nil
}
