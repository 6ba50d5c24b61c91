// Command pspsim runs the simulated payment provider: an HTTP provider with
// programmable faults and an oracle that knows what was really charged. It is for
// tests and demonstrations, and moves no money.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/payonce/payonce/internal/pspsim"
)

type flags struct {
	Addr string `env:"PAYONCE_PSPSIM_ADDR" default:"127.0.0.1:8090" help:"Address to listen on."`
	Data string `env:"PAYONCE_PSPSIM_DATA" type:"path" help:"File that keeps charges over a restart. Without it they live in memory."`
	Seed uint64 `env:"PAYONCE_PSPSIM_SEED" default:"1" help:"Decides which requests meet which faults."`
}

func main() {
	var f flags
	kong.Parse(&f, kong.Name("pspsim"), kong.Description("A simulated payment provider with programmable faults."))
	if err := run(f); err != nil {
		fmt.Fprintln(os.Stderr, "pspsim:", err)
		os.Exit(1)
	}
}

func run(f flags) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := pspsim.New(pspsim.Options{Seed: f.Seed, DataFile: f.Data})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", f.Addr)
	if err != nil {
		return fmt.Errorf("PAYONCE_PSPSIM_ADDR: %w", err)
	}
	fmt.Fprintf(os.Stderr, "pspsim: listening on http://%s\n", listener.Addr())
	return pspsim.Serve(ctx, listener, server)
}
