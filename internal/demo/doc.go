// Package demo runs the whole pipeline under faults and checks its promises.
//
//	PostgreSQL, Kafka, two simulated providers, billing ── built for it, or given
//	  └─ intake, relays, workers, reconciler ── some of them killed
//	       └─ thousands of payments, repeated, some canceled, some refunded ──> audit ──> Report
//
// Its promise: it believes nobody. What happened is read from the providers'
// oracle, from the topics and from billing's own database, and compared with what
// payonce says. A provider that lies about its capabilities (the sabotage) must
// make it report double charges and refunds, so that a clean report means something.
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
	Seed     uint64 // decides about amounts, repeats and faults
	JSON     bool   // the report as one line of JSON, after the table
	// Broker is HOST:PORT of a real Kafka; empty: kfake, in this process.
	Broker string
	// Database is a superuser's URL; empty: a PostgreSQL started for the demo.
	// Databases of the demo's own are created there, and the passwords of
	// payonce's roles are set anew.
	Database string
	// Download starts the PostgreSQL that is downloaded, whatever the machine has.
	Download bool
	// Compose is the file of a Docker Compose project that runs and has taken no
	// payment yet. The demo plays on its parts instead of starting any, and leaves
	// them running. It excludes Broker, Database, Download, Keep and Sabotage.
	Compose string
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
	// openPatience is how long the demo waits for one more outcome to be told.
	// The slowest ones lost their message: they are on the due list a minute after
	// they were accepted.
	openPatience = 90 * time.Second
	// followPatience is how long topics and billing may lag behind the database.
	followPatience = 30 * time.Second
)

// Run runs the demo and returns what it found. An error means that it could not
// be carried out; a broken promise is no error but stands in the report. Nothing
// that it started is left when it returns.
func Run(ctx context.Context, o Options) (Report, error) {
	if o.Sabotage != "" && o.Sabotage != FalseCapabilities {
		return Report{}, fmt.Errorf("there is no sabotage %q; there is %s", o.Sabotage, FalseCapabilities)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s := newStage(o, fail)
	defer s.close()
	report, err := s.perform(ctx)
	if cause := context.Cause(ctx); cause != nil {
		return report, cause // whatever it made fail is not the news
	}
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
		s.describe()
		<-ctx.Done()
	}
	return report, nil
}

func (s *stage) perform(ctx context.Context) (Report, error) {
	if err := s.build(ctx); err != nil {
		return Report{}, err
	}
	began := time.Now()
	relent := s.beginChaos(ctx)
	defer relent()
	load := newLoad(s.options.Payments)
	defer load.client.CloseIdleConnections()
	var leave func()
	load.beside, leave = s.beginAmending(ctx)
	defer leave()
	if err := s.load(ctx, load); err != nil {
		return Report{}, err
	}
	loaded := time.Since(began)
	if err := s.awaitFinal(ctx, load); err != nil {
		return Report{}, err
	}
	took := time.Since(began)
	leave()
	relent()
	s.progress.end()
	if err := s.parts.intact(ctx); err != nil {
		return Report{}, err
	}
	report, err := s.audit(ctx, load)
	report.Seconds = took.Seconds()
	report.loadSeconds = loaded.Seconds()
	return report, err
}
