package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/payonce/payonce/internal/app"
)

type epochCommand struct {
	Bump epochBump `cmd:"" help:"${bump_help}"`
}

// epochHelp holds the text that is too long for a tag.
const epochHelp = "After a failover or a restore that lost commits: make the provider be asked about every operation that is not final, " +
	"before anything is sent. Stop the workers, the reconcilers and all intakes first (HTTP, Kafka and your own that use pkg/intake): a cancel before its " +
	"first commit may free the invoice of a charge that the provider holds. It can be stopped, and goes on when it is called again."

type epochBump struct {
	InFlight time.Duration `default:"1m" help:"How long a request of a lost claim may still be under way: the longest PAYONCE_LEASE of any worker, and more."`
	Again    bool          `help:"Commits were lost once more since a bump that has not come to its end: begin a new one."`
	decision
}

// Run implements the command.
func (c epochBump) Run(ctx context.Context, t terminal) error {
	if c.InFlight <= 0 {
		return usageError{errors.New("--in-flight is above zero")}
	}
	operator, err := c.operator()
	if err != nil {
		return err
	}
	bumped, err := app.BumpEpoch(ctx, t.environ, app.Bump{Operator: operator, InFlight: c.InFlight, Again: c.Again}, func(done int) {
		fmt.Fprintf(t.errOut, "%d operations done\n", done)
	})
	if err != nil {
		return err
	}
	return c.tell(t, bumped, func() { writeBumped(t, bumped) })
}

func writeBumped(t terminal, b app.Bumped) {
	if b.GoesOn {
		fmt.Fprintf(t.out, "goes on with the epoch of %s\n", shown(b.BumpedAt))
	}
	total := 0
	for _, o := range b.Open {
		fmt.Fprintf(t.out, "%s: %d %s\n", o.Account, o.Operations, o.State)
		total += o.Operations
	}
	if b.Executed {
		fmt.Fprintf(t.out, "done: the provider is asked about %d operations before anything is sent\n", b.Recorded)
		return
	}
	fmt.Fprintf(t.out, "would have the provider asked about %d operations before anything is sent\n%s\n", total, rehearsed)
}
