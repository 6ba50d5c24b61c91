package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"
	"go.uber.org/zap"
	"golang.org/x/term"

	"github.com/payonce/payonce/internal/demo"
)

type demoCommand struct {
	Payments int    `default:"2000" help:"How many payments to accept."`
	Seed     uint64 `default:"1" help:"${seed_help}"`
	Output   string `enum:"text,json" default:"text" help:"json: the report as the last line, in JSON."`
	Broker   string `placeholder:"HOST:PORT" help:"A real Kafka. Without it a broker runs inside the demo."`
	Database string `placeholder:"URL" help:"${database_help}"`
	Postgres string `placeholder:"machine|download" default:"machine" env:"PAYONCE_DEMO_POSTGRES" help:"${postgres_help}"`
	Compose  string `type:"existingfile" placeholder:"FILE" help:"${compose_help}"`
	Keep     bool   `help:"Leave everything running until Ctrl-C."`
	Sabotage string `placeholder:"KIND" help:"${sabotage_help}"`
}

// demoHelp holds the texts that are too long for a tag.
var demoHelp = kong.Vars{
	"seed_help": "Decides about amounts, repeats and faults. Ids are new in each run, so the faults meet other payments.",
	"database_help": "A superuser's URL of a PostgreSQL to try things on: databases are created there, and the passwords of " +
		"payonce's roles are set anew. Without it one is started.",
	"postgres_help": "The PostgreSQL that is started: machine is the newest of this machine, or the download where it has none; " +
		"download is the newest that payonce is tested on.",
	"compose_help": "The file of a Docker Compose project that runs and has taken no payment yet, to play on instead of starting anything. " +
		"Containers of it are killed and started again.",
	"sabotage_help": "false-capabilities: a provider that is declared to honour keys and does not. The demo must then report double charges.",
}

// downloaded chooses a PostgreSQL that the machine need not have.
const downloaded = "download"

// Both end the demo with the exit code of a failure.
var (
	errPromiseBroken = errors.New("a promise was broken")
	errInterrupted   = errors.New("interrupted; nothing is left running")
)

// Run implements the command.
func (c demoCommand) Run(ctx context.Context, t terminal) error {
	if c.Payments < 1 {
		return usageError{errors.New("--payments is at least 1")}
	}
	if c.Sabotage != "" && c.Sabotage != demo.FalseCapabilities {
		return usageError{fmt.Errorf("--sabotage is %s", demo.FalseCapabilities)}
	}
	if err := errors.Join(c.checkPostgres(), c.checkCompose()); err != nil {
		return usageError{err}
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program, which runs the services: %w", err)
	}
	out, isFile := t.out.(*os.File)
	report, err := demo.Run(ctx, demo.Options{
		Payments: c.Payments, Seed: c.Seed, JSON: c.Output == "json", Broker: c.Broker, Database: c.Database,
		Download: c.Postgres == downloaded, Compose: c.Compose, Keep: c.Keep, Sabotage: c.Sabotage, Program: program,
		Out: t.out, Terminal: isFile && term.IsTerminal(int(out.Fd())), Log: zap.NewNop(),
	})
	if ctx.Err() != nil && err != nil {
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if broken := report.Broken(); len(broken) > 0 {
		return fmt.Errorf("%w: %s", errPromiseBroken, strings.Join(broken, ", "))
	}
	return nil
}

// checkPostgres names the variable too, because most people choose by it.
func (c demoCommand) checkPostgres() error {
	switch {
	case c.Postgres != "machine" && c.Postgres != downloaded:
		return fmt.Errorf("--postgres (PAYONCE_DEMO_POSTGRES) is %q: set it to machine or %s", c.Postgres, downloaded)
	case c.Postgres == downloaded && c.Database != "":
		return errors.New("--database names a server and --postgres (PAYONCE_DEMO_POSTGRES) chooses another one: remove one of them")
	}
	return nil
}

// checkCompose refuses what would choose or change the parts of a project that
// runs. Which PostgreSQL would be started (PAYONCE_DEMO_POSTGRES) is no choice then.
func (c demoCommand) checkCompose() error {
	if c.Compose != "" && (c.Broker != "" || c.Database != "" || c.Keep || c.Sabotage != "") {
		return errors.New("--compose plays on what runs already: remove --broker, --database, --keep and --sabotage")
	}
	return nil
}
