// Command bench measures payonce on the machine that it runs on.
//
//	PostgreSQL, Kafka, a provider ──> intake, relay, worker, reconciler ──> load ──> bench/results.json
//
// Its promise: what is compared was measured in the same run, on the same server,
// with durable commits; latencies of the open loop count from the moment at which a
// request was due, so that a slow answer is not hidden by the requests that it held
// up; and a load that moved money twice is an error and no result.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kong"

	"github.com/payonce/payonce/internal/app"
	"github.com/payonce/payonce/internal/lifecycle"
)

// options are the command line.
type options struct {
	Rate      int           `default:"200" help:"Requests per second of the open loop, duplicates included."`
	Duration  time.Duration `default:"20s" help:"How long the open loop lasts."`
	Requests  int           `default:"6000" help:"Requests of the closed loop, duplicates included."`
	Callers   int           `default:"64" help:"Callers of the closed loops."`
	Reference time.Duration `default:"5s" help:"How long pgbench and what is compared with it are measured, each in each of three rounds."`
	Seed      uint64        `default:"1" help:"Decides what is sent again, and when."`
	Broker    string        `placeholder:"HOST:PORT" help:"A real Kafka. Without it a broker runs inside the benchmark."`
	Download  bool          `help:"The PostgreSQL that is downloaded, instead of the machine's own. It may bring no pgbench."`
	Only      string        `enum:"all,load,accept" default:"all" help:"load: the load run. accept: accepting against pgbench (S3)."`
	Out       string        `default:"bench/results.json" help:"Where the results are written."`
}

func main() {
	// A service is this program again, so that each is a process of its own.
	if len(os.Args) == 3 && os.Args[1] == "service" {
		os.Exit(app.Main(os.Args[2]))
	}
	var o options
	kong.Parse(&o, kong.Name("bench"), kong.Description("Measure payonce on this machine."))
	ctx, stop := lifecycle.Signals(context.Background())
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(app.ExitCode(err))
	}
}

func run(ctx context.Context, o options) (err error) {
	s, err := newStage(ctx, o)
	if err != nil {
		return err
	}
	defer s.close()
	results := []result{machine(), freeShare()}
	for _, part := range []struct {
		name    string
		measure func(context.Context, *stage) ([]result, error)
	}{{"accept", measureAccept}, {"load", measureLoad}} {
		if o.Only != "all" && o.Only != part.name {
			continue
		}
		measured, failed := part.measure(ctx, s)
		if results = append(results, measured...); failed != nil {
			err = errors.Join(err, fmt.Errorf("measuring %s: %w", part.name, failed))
		}
	}
	printResults(os.Stdout, results)
	if err != nil {
		return err
	}
	return writeResults(o.Out, results)
}
