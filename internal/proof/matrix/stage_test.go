package matrix_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/payonce/payonce/internal/outcome"
	"github.com/payonce/payonce/internal/provider"
	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/internal/worker"
	"github.com/payonce/payonce/pkg/event"
)

// stage is one world's database, provider and clock, and the cells that share
// them.
type stage struct {
	world     world
	db        *testkit.Database
	clock     *clock
	sim       *pspsim.Server
	sound     string // the provider's address over a sound wire
	publisher outcome.Publisher
	applier   *outcome.Applier
	log       *zap.Logger
	problems  *observer.ObservedLogs // what was logged as an error
	moments   *moments
	rounds    []round
	skew      atomic.Int64 // how far the provider's clock is ahead of ours
	down      atomic.Bool  // nobody listens at the provider
	dead      provider.Connector
	cells     []*cell
}

func newStage(t testing.TB, w world) *stage {
	t.Helper()
	require.NoError(t, w.declared.Validate())
	s := &stage{world: w, db: testkit.NewDatabase(t), moments: newMoments(t.Context()), rounds: rounds()}
	s.clock = &clock{db: s.db}
	var err error
	s.sim, err = pspsim.New(pspsim.Options{Seed: 1, Faults: w.truth, Now: s.providersNow})
	require.NoError(t, err)
	server := httptest.NewServer(s.sim)
	t.Cleanup(server.Close)
	t.Cleanup(func() { require.NoError(t, s.sim.Close()) })
	s.sound = server.URL
	s.dead = s.connect(t, closedPort(t), patience)
	core, problems := observer.New(zapcore.ErrorLevel)
	s.log, s.problems = zap.New(core), problems
	s.publisher = outcome.Publisher{Topic: event.TopicsWithPrefix("payonce").Events, Source: fixture.Source}
	s.applier = outcome.NewApplier(s.db.App, s.publisher)
	s.runApplier(t)
	return s
}

func (s *stage) providersNow() time.Time { return s.clock.now().Add(time.Duration(s.skew.Load())) }

func (s *stage) runApplier(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.applier.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

func (s *stage) worker(t testing.TB, name string, accounts map[string]provider.Connector) *worker.Worker {
	t.Helper()
	made, err := worker.New(worker.Config{Name: name, Accounts: accounts, Lease: lease, Slots: 4}, s.db.App, s.applier, s.log)
	require.NoError(t, err)
	return made
}

// answer is what the provider says over a sound wire.
type answer = httptest.ResponseRecorder

// deliver hands a request to the provider that a broken server has read.
func (s *stage) deliver(req *http.Request, body string) *answer {
	copied := httptest.NewRequest(req.Method, req.URL.RequestURI(), strings.NewReader(body))
	copied.Header = req.Header.Clone()
	recorded := httptest.NewRecorder()
	s.sim.ServeHTTP(recorded, copied)
	return recorded
}

// clock is the time of database and provider: the real one, and ahead of it.
// begun is when the real one began to count.
type clock struct {
	db    *testkit.Database
	begun time.Time
	ahead atomic.Int64
}

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// reach moves the clock to a time after the beginning, unless it is past it.
func (c *clock) reach(t testing.TB, at time.Duration) {
	t.Helper()
	ahead := max(at-time.Since(c.begun), time.Duration(c.ahead.Load()))
	c.ahead.Store(int64(ahead))
	c.db.SetNow(t, ahead)
}

// moments are when things happen that were put off.
type moments struct {
	mu      sync.Mutex
	put     map[moment][]func()
	reached map[moment]chan struct{}
	over    <-chan struct{}
}

func newMoments(test context.Context) *moments {
	m := &moments{put: map[moment][]func(){}, over: test.Done()}
	m.reached = map[moment]chan struct{}{afterLease: make(chan struct{}), afterGrace: make(chan struct{})}
	return m
}

func (m *moments) at(when moment, do func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put[when] = append(m.put[when], do)
}

func (m *moments) wait(when moment) {
	select {
	case <-m.reached[when]:
	case <-m.over: // the test has failed, and its clean-up waits for us
	}
}

// come does what was put off until now.
func (m *moments) come(when moment) {
	m.mu.Lock()
	put := m.put[when]
	m.mu.Unlock()
	for _, do := range put {
		do()
	}
	close(m.reached[when])
}
