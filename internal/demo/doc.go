// Package demo runs the whole pipeline under faults and checks its promises.
//
//	PostgreSQL, Kafka, two simulated providers, billing
//	  └─ children: intake, relays, workers, reconciler ── some of them killed
//	       └─ thousands of payments, repeated ──> audit ──> Report
//
// Its promise: it believes nobody. What happened is read from the providers'
// oracle, from the topics and from billing's own database, and compared with what
// payonce says. A provider that lies about its capabilities (the sabotage) must
// make it report double charges, so that a clean report means something.
package demo

import (
	"context"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"
)

// Options are what `payctl demo` takes.
type Options struct {
	Payments int    // distinct payments to accept
	Seed     uint64 // decides which requests meet which faults
	JSON     bool   // the report as one line of JSON, after the table
	// Broker is HOST:PORT of a real Kafka; empty: kfake, in this process.
	Broker string
	// Database is a superuser's URL; empty: a PostgreSQL started for the demo.
	// Databases of the demo's own are created there, and the passwords of
	// payonce's roles are set anew.
	Database string
	// Keep leaves everything running until the context ends.
	Keep bool
	// Sabotage is empty or FalseCapabilities.
	Sabotage string
	// Program is the binary that runs a service as `Program service NAME`.
	Program string
	Out     io.Writer
	// Terminal says that Out is one, and may show a progress bar.
	Terminal bool
	Log      *zap.Logger
}

// FalseCapabilities gives the pipeline a provider that is declared to honour
// idempotency keys, and does not, and cannot be asked. No guard of payonce is
// switched off: the declaration is false, and money is moved twice.
const FalseCapabilities = "false-capabilities"

const (
	// openPatience is how long the demo waits for the last payments after the last
	// request. The slowest ones were in the hands of a killed worker: their lease
	// runs out, then the provider is asked, again after the grace.
	openPatience = 90 * time.Second
	// followPatience is how long topics and billing may lag behind the database.
	followPatience = 30 * time.Second
)

// Run runs the demo and returns what it found. An error means that it could not
// be carried out; a broken promise is no error but stands in the report.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Sabotage != "" && o.Sabotage != FalseCapabilities {
		return Report{}, fmt.Errorf("there is no sabotage %q; there is %s", o.Sabotage, FalseCapabilities)
	}
	s, err := newStage(ctx, o)
	if err != nil {
		return Report{}, err
	}
	defer s.close()
	fmt.Fprintf(o.Out, "PostgreSQL %s, %s, two simulated providers (one without keys); seed %d\n", s.version, s.brokerName, o.Seed)
	report, err := s.perform(ctx)
	if err != nil {
		return report, err
	}
	report.print(o.Out)
	if o.JSON {
		if err := report.printJSON(o.Out); err != nil {
			return report, err
		}
	}
	if o.Keep {
		fmt.Fprintf(o.Out, "kept running: API http://%s, database %s; Ctrl-C ends it\n", s.httpAddr, s.database.AppURL)
		<-ctx.Done()
	}
	return report, nil
}

func (s *stage) perform(ctx context.Context) (Report, error) {
	began := time.Now()
	watched, stop := context.WithCancel(ctx)
	defer stop()
	go s.chaos(watched)
	following, loadEnds := context.WithCancel(ctx)
	go s.follow(following)
	load, err := s.load(ctx)
	loadEnds()
	if err != nil {
		return Report{}, err
	}
	loaded := time.Since(began)
	if err := s.awaitFinal(ctx); err != nil {
		return Report{}, err
	}
	stop()
	s.progress.end()
	took := time.Since(began)
	report, err := s.audit(ctx, load)
	report.Seconds = took.Seconds()
	report.loadSeconds = loaded.Seconds()
	return report, err
}
