package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/payonce/payonce/internal/merchant"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/pkg/event"
)

// The two provider accounts, of which the second one's provider ignores keys.
const (
	withKeys    = "card"
	withoutKeys = "card-nokeys"
)

// accounts are both, in the order in which they are set up.
var accounts = []string{withKeys, withoutKeys}

// stage is what the demo plays on: where the pipeline's parts are, and nothing
// about how they came to be there.
type stage struct {
	options  Options
	fail     context.CancelCauseFunc // ends the demo with a reason
	progress *progress
	parts    parts

	pool            *pgxpool.Pool // payonce's database, as the services see it
	databaseURL     string
	billed          *pgxpool.Pool // billing's database
	brokers         []string
	brokerName      string
	prefix          string
	topics          event.Topics
	urls            map[string]string // of the providers, by account
	providerTimeout time.Duration     // what the services allow a call
	httpAddr        string

	apiKeys   map[string]string // by account
	merchants []uuid.UUID
	witness   *witness
	amending  amending
	closers   []func() // in the order in which things were started
}

// parts bring the pipeline to the stage. They are built for it, or given.
type parts interface {
	// prepare fills in the stage's servers.
	prepare(ctx context.Context) error
	// run returns once the services take payments, and billing bills them.
	run(ctx context.Context) error
	// killOne ends one process of a service as a power cut would, and startOne
	// starts another one in its place.
	killOne(ctx context.Context, service string) error
	startOne(ctx context.Context, service string) error
	// intact returns an error when a process ended that was not killed.
	intact(ctx context.Context) error
}

func newStage(o Options, fail context.CancelCauseFunc) *stage {
	s := &stage{options: o, fail: fail, progress: newProgress(o), urls: map[string]string{}, apiKeys: map[string]string{}}
	if o.Compose != "" {
		s.parts = &given{stage: s, project: project{file: o.Compose}}
	} else {
		s.parts = &built{stage: s}
	}
	return s
}

// build sets everything up, from the ground up.
func (s *stage) build(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		s.parts.prepare, s.setFaults, s.createMerchants, s.introduce, s.startWitness, s.parts.run,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// introduce says what the demo plays on.
func (s *stage) introduce(ctx context.Context) error {
	var version string
	if err := s.pool.QueryRow(ctx, "SHOW server_version").Scan(&version); err != nil {
		return err
	}
	fmt.Fprintf(s.options.Out, "PostgreSQL %s, %s, two simulated providers (one without keys); seed %d\n", version, s.brokerName, s.options.Seed)
	return nil
}

// later says how something that was just started is stopped.
func (s *stage) later(closer func()) { s.closers = append(s.closers, closer) }

// close stops everything, in the reverse order: nothing loses what it stands on.
func (s *stage) close() {
	s.progress.end()
	for _, closer := range slices.Backward(s.closers) {
		closer()
	}
}

// background runs a part of the demo in this process, until the stage is closed.
// Its error ends the demo.
func (s *stage) background(ctx context.Context, name string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() {
		if err := run(ctx); err != nil {
			s.fail(fmt.Errorf("%s: %w", name, err))
		}
	})
	s.later(func() {
		cancel()
		running.Wait()
	})
}

// setFaults gives both providers a bad day.
func (s *stage) setFaults(ctx context.Context) error {
	for _, account := range accounts {
		if err := setFaults(ctx, s.urls[account], s.faults(account)); err != nil {
			return err
		}
	}
	return nil
}

// faults are the same for both, but for keys: the second one ignores them, and so
// does the first one when it is sabotaged.
func (s *stage) faults(account string) pspsim.Faults {
	faults := ordinaryFaults(s.providerTimeout)
	if account == withoutKeys || s.options.Sabotage == FalseCapabilities {
		faults.Keys = pspsim.KeysOff
	}
	if s.options.Sabotage == FalseCapabilities {
		faults.Rates.Pending = 0 // nobody could ask how it went on
	}
	return faults
}

func (s *stage) createMerchants(ctx context.Context) error {
	directory := merchant.NewDirectory(s.pool)
	for _, account := range accounts {
		created, key, err := directory.Create(ctx, "Merchant of "+account, account)
		if err != nil {
			return err
		}
		s.apiKeys[account] = key
		s.merchants = append(s.merchants, created.ID)
	}
	return nil
}

// startWitness has everything that is on the topics written down.
func (s *stage) startWitness(ctx context.Context) error {
	var err error
	if s.witness, err = startWitness(ctx, s.brokers, s.topics); err != nil {
		return err
	}
	s.later(s.witness.stop)
	return nil
}

// describe says how to look at what is left running.
func (s *stage) describe() {
	fmt.Fprintf(s.options.Out, "kept running until Ctrl-C:\n  API       http://%s\n  database  %s\n  Kafka     %s, topics %s.*\n",
		s.httpAddr, s.databaseURL, strings.Join(s.brokers, ","), s.prefix)
	for account, url := range s.urls {
		fmt.Fprintf(s.options.Out, "  provider  %s, account %s; its merchant's API key is %s\n", url, account, s.apiKeys[account])
	}
}
