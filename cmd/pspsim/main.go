// Command pspsim runs the simulated payment provider: an HTTP provider with
// programmable faults and an oracle that knows what was really charged. It is for
// tests and demonstrations, and moves no money.
package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"

	"github.com/alecthomas/kong"

	"github.com/payonce/payonce/internal/lifecycle"
	"github.com/payonce/payonce/internal/pspsim"
)

type commands struct {
	Addr string `env:"PAYONCE_PSPSIM_ADDR" default:"127.0.0.1:8090" help:"Address to listen on."`

	Serve  serveCommand  `cmd:"" default:"withargs" help:"Run the provider."`
	Health healthCommand `cmd:"" help:"Ask the provider that runs on this machine: exit code 0 when it answers."`
}

type serveCommand struct {
	Data   string `env:"PAYONCE_PSPSIM_DATA" type:"path" help:"File that keeps charges over a restart. Without it they live in memory."`
	Seed   uint64 `env:"PAYONCE_PSPSIM_SEED" default:"1" help:"Decides which requests meet which faults."`
	Faults faults `env:"PAYONCE_PSPSIM_FAULTS" placeholder:"JSON" help:"Faults from the start, as in the body of PUT /faults."`

	WebhookURL    string `env:"PAYONCE_PSPSIM_WEBHOOK_URL" placeholder:"URL" help:"Where webhooks are sent, as in PUT /webhooks. Without it none are."`
	WebhookSecret string `env:"PAYONCE_PSPSIM_WEBHOOK_SECRET" placeholder:"whsec_…" help:"Signs the webhooks: whsec_ and 24 to 64 bytes in base64."`
}

type healthCommand struct {
	What string `arg:"" optional:"" enum:"livez" default:"livez" help:"livez, the only thing that it can be asked."`
}

// faults are read as PUT /faults reads them.
type faults pspsim.Faults

// UnmarshalText implements encoding.TextUnmarshaler, by which the parser reads them.
func (f *faults) UnmarshalText(text []byte) error {
	read, err := pspsim.ReadFaults(bytes.NewReader(text))
	*f = faults(read)
	return err
}

func main() {
	ctx, stop := lifecycle.Signals(context.Background())
	parsed := kong.Parse(&commands{}, kong.Name("pspsim"), kong.Description("A simulated payment provider with programmable faults."))
	parsed.BindTo(ctx, (*context.Context)(nil))
	err := parsed.Run()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pspsim:", err)
		os.Exit(1)
	}
}

// Run implements the command.
func (c serveCommand) Run(ctx context.Context, all *commands) error {
	server, err := pspsim.New(pspsim.Options{
		Seed: c.Seed, DataFile: c.Data, Faults: pspsim.Faults(c.Faults),
		Webhooks: pspsim.Webhooks{URL: c.WebhookURL, Secret: c.WebhookSecret},
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", all.Addr)
	if err != nil {
		return fmt.Errorf("PAYONCE_PSPSIM_ADDR: %w", err)
	}
	fmt.Fprintf(os.Stderr, "pspsim: listening on http://%s\n", listener.Addr())
	return pspsim.Serve(ctx, listener, server)
}

// Run implements the command.
func (c healthCommand) Run(ctx context.Context, all *commands) error {
	return lifecycle.Probe(ctx, all.Addr, c.What)
}
