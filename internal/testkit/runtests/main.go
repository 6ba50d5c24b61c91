// Command runtests runs a command with one PostgreSQL and one Apache Kafka for all
// the test processes that it starts.
//
//	go run ./internal/testkit/runtests -- go test -race ./...
//
// Each package's tests would otherwise start servers of their own, which works but
// costs seconds per package. A server that the environment already names is used
// as it is; else the one that PAYONCE_TEST_POSTGRES or PAYONCE_TEST_KAFKA chooses is
// started; else the first that can be had of the machine's own programs, a Docker
// container, and a download of PostgreSQL or an imitation of Kafka. Signals go to the command and all that it started; the servers end with
// this process. The exit code is the command's (`go run` makes 1 of every failure).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

// Exit codes besides the command's own, as a shell uses them.
const (
	exitUsage  = 2
	exitSetUp  = 125
	exitSignal = 128
)

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "--" {
		arguments = arguments[1:]
	}
	if len(arguments) == 0 {
		say("usage: runtests -- COMMAND [ARGUMENT...]")
		os.Exit(exitUsage)
	}
	os.Exit(run(arguments))
}

func run(arguments []string) int {
	// Signals are taken before anything is started, so that none ends us early.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s := &servers{}
	defer s.stop()
	started := make(chan error, 1)
	go func() { started <- s.start(ctx) }()
	select {
	case err := <-started:
		if err != nil {
			say("%v", err)
			return exitSetUp
		}
	case received := <-signals:
		cancel()
		<-started //nolint:errcheck // it was cancelled, and says so at most
		return exitSignal + int(received.(syscall.Signal))
	}
	code, err := runCommand(arguments, signals)
	if err != nil {
		say("%v", err)
	}
	return code
}

// runCommand runs the command in a process group of its own, which gets every
// signal as a whole: `go test` itself does not pass SIGTERM on to the tests.
func runCommand(arguments []string, signals <-chan os.Signal) (int, error) {
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := command.Start(); err != nil {
		return exitSetUp, fmt.Errorf("starting the command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case received := <-signals:
			_ = syscall.Kill(-command.Process.Pid, received.(syscall.Signal))
		case err := <-ended:
			return exitCode(command.ProcessState, err)
		}
	}
}

// exitCode is the command's own, or what a shell makes of the signal that ended it.
func exitCode(state *os.ProcessState, err error) (int, error) {
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		return exitSetUp, fmt.Errorf("waiting for the command: %w", err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal()), nil
	}
	return state.ExitCode(), nil
}

func say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "runtests: "+format+"\n", arguments...)
}
