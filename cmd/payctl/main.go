// Command payctl prepares and inspects payonce. `payctl --help` lists what it can
// do. Its exit codes are those of package app: 0 done, 1 failed or a promise is
// broken, 2 not understood, 3 the configuration has to be corrected, 4 a server
// does not answer.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kong"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/lifecycle"
)

const description = `Prepares and inspects payonce. Configuration comes from the environment (PAYONCE_*); ` +
	"`payctl config check`" + ` says what is wrong with it.

Exit codes: 0 done, 1 failed or a promise is broken, 2 the command line is not understood, ` +
	`3 the configuration has to be corrected, 4 the database or Kafka does not answer.`

// commands is the command line.
type commands struct {
	Migrate  migrateCommand  `cmd:"" help:"Bring the database's schema up to date (PAYONCE_MIGRATE_DATABASE_URL)."`
	Topics   topicsCommand   `cmd:"" help:"Kafka topics."`
	Merchant merchantCommand `cmd:"" help:"Merchants and their API keys."`
	Provider providerCommand `cmd:"" help:"Payment providers."`
	Unknown  unknownCommand  `cmd:"" help:"Operations whose outcome is not known."`
	Case     caseCommand     `cmd:"" help:"What contradicts the books: late, double and wrong money."`
	Drift    driftCommand    `cmd:"" help:"Differences between our operations and the provider's list."`
	Epoch    epochCommand    `cmd:"" help:"Commits that the database lost."`
	Config   configCommand   `cmd:"" help:"Configuration."`
	Demo     demoCommand     `cmd:"" help:"Run the whole pipeline under faults, here and now, and check its promises."`
	Service  serviceCommand  `cmd:"" hidden:"" help:"Run a service, as its own program would."`
}

// terminal is where a command finds its surroundings.
type terminal struct {
	environ     []string
	out, errOut io.Writer
}

func main() {
	ctx, stop := lifecycle.Signals(context.Background())
	code := run(ctx, os.Args[1:], terminal{environ: os.Environ(), out: os.Stdout, errOut: os.Stderr})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, arguments []string, t terminal) int {
	exited := -1 // by --help
	parser := kong.Must(&commands{}, kong.Name("payctl"), kong.Description(description), demoHelp, kong.Vars{"bump_help": epochHelp},
		kong.Writers(t.out, t.errOut), kong.Exit(func(code int) { exited = code }))
	parsed, err := parser.Parse(arguments)
	if exited >= 0 {
		return exited
	}
	if err != nil {
		fmt.Fprintf(t.errOut, "payctl: %v; see payctl --help\n", err)
		return app.ExitUsage
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	if err := parsed.Run(t); err != nil {
		fmt.Fprintf(t.errOut, "payctl: %v\n", err)
		return exitCode(err)
	}
	return app.ExitOK
}
