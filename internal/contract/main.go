// Package main tests the whole pipeline, served as in production, against the document
// that the API serves.
//
//	PostgreSQL, Kafka, provider, services <──requests── Schemathesis ──report──> verdict
//
// The cases are made by a tool that nobody here wrote. Fewer than CasesMin of them, or
// one that failed, is a failure. Everything that was started ends with the run.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/payonce/payonce/internal/lifecycle"
)

// CasesMin is how many cases a run has to have. One that found next to nothing to try
// must not look like one that found no fault.
const CasesMin = 2000

// AcceptedMin is how many cases have to be answered with what they asked for. A server
// that refuses everything breaks no schema.
const AcceptedMin = 200

// ErroredMax is the share of cases, in percent, that the tool may give up before it
// sends them. More would hide what the rest of the run says.
const ErroredMax = 2

// keyVariable tells the tool a merchant's API key. Its configuration names it.
const keyVariable = "PAYONCE_CONTRACT_API_KEY"

// stopGrace is what the tool gets to end after it was asked to.
const stopGrace = 10 * time.Second

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: contract SCHEMATHESIS [OPTION...] run [OPTION...]")
		os.Exit(2)
	}
	ctx, stop := lifecycle.Signals(context.Background())
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "contract:", err)
		os.Exit(1)
	}
}

// run sets the pipeline up, has the tool try it, judges, and takes the pipeline down.
func run(ctx context.Context, tool []string) error {
	folder, err := os.MkdirTemp("", "payonce-contract-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	s := &stage{}
	defer s.close()
	if err := s.build(ctx); err != nil {
		return fmt.Errorf("setting up: %w", err)
	}
	path := filepath.Join(folder, "report.json")
	if err := s.try(ctx, folder, append(tool, "--report-json-path", path, "http://"+s.httpAddr+"/openapi.yaml")); err != nil {
		return err
	}
	return judge(path)
}

// try runs the tool while all services do, in a folder where it may leave things.
func (s *stage) try(ctx context.Context, folder string, tool []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	command := exec.CommandContext(ctx, tool[0], tool[1:]...)
	command.Dir = folder
	command.Env = append(os.Environ(), keyVariable+"="+s.apiKey)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	ended := make(chan error, 1)
	go func() { ended <- command.Run() }()
	select {
	case err := <-ended:
		return err
	case err := <-s.broken:
		cancel()
		return errors.Join(err, <-ended)
	}
}
