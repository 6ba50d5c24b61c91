package matrix_test

import (
	"context"
	_ "embed"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/payonce/payonce/internal/operation"
	"github.com/payonce/payonce/pkg/payment"
)

// claimed is when the first attempts are made: no message comes, and the due list
// makes up for it.
const claimed = operation.MessageGrace + time.Second

// round is a moment at which workers and reconcilers do all that is due.
type round struct {
	after  time.Duration // the claim
	before moment        // what happens just before, if anything
	begin  func(*stage)  // what else changes just before
}

// rounds grow with the age, as the schedule of inquiries does.
func rounds() []round {
	return []round{
		{after: 0},
		{after: time.Second},
		{after: sendOver + 6*time.Second}, // leases are taken over, keys without inquiry are resent
		{after: sendOver + 30*time.Second, before: afterLease},
		{after: sendOver + grace + time.Minute}, // "not found" counts
		{after: sendOver + grace + 2*time.Minute},
		{after: 20 * time.Minute},
		{after: inquiryLag + 10*time.Minute},
		{after: muchLater + time.Minute, before: afterGrace},
		{after: 90 * time.Minute},
		{after: 150 * time.Minute},
		{after: 5 * time.Hour},
		{after: 11 * time.Hour},
		{after: 25 * time.Hour}, // keys are forgotten
	}
}

// afterlife is when everything is done once more, with all cells: what is settled
// must stay as it is, and send nothing.
const afterlife = 50 * time.Hour

// passes is how often each round does everything, as long as it finds something:
// what one part orders another one carries out.
const passes = 2

// atOnceMax bounds the cells that are worked on at once.
const atOnceMax = 4

// run takes the cells to their ends.
func (s *stage) run(t testing.TB) {
	t.Helper()
	s.clock.begun = time.Now() // the last payment has just been accepted
	for i, r := range s.rounds {
		s.clock.reach(t, claimed+r.after)
		if r.before != atOnce {
			s.moments.come(r.before)
			s.drainLate(t)
		}
		if r.begin != nil {
			r.begin(s)
		}
		s.work(t, i == 0, s.open())
		s.look(t, r.after)
	}
	for _, c := range s.cells {
		c.end.sends = s.sends(c)
	}
	s.clock.reach(t, claimed+afterlife)
	s.work(t, false, s.cells)
	for _, c := range s.cells {
		before := c.end
		c.end = s.facts(t)[c.payment.OperationID]
		c.end.sends = s.sends(c)
		c.end.stirred = before.state.Final() && (before.state != c.end.state || before.attempts != c.end.attempts || before.sends != c.end.sends)
	}
}

// open returns the cells that a machine may still do something for.
func (s *stage) open() []*cell {
	var open []*cell
	for _, c := range s.cells {
		if !c.end.state.Final() && !c.end.person {
			open = append(open, c)
		}
	}
	return open
}

func (s *stage) work(t testing.TB, first bool, cells []*cell) {
	t.Helper()
	var working errgroup.Group
	working.SetLimit(atOnceMax)
	for _, c := range cells {
		working.Go(func() error {
			if err := c.work(t.Context(), first); err != nil {
				return fmt.Errorf("%s: %w", c.name(), err)
			}
			return nil
		})
	}
	require.NoError(t, working.Wait())
}

// work does what the processes do all the time, one after the other, so that a
// cell takes the same course in every run.
func (c *cell) work(ctx context.Context, first bool) error {
	sender := c.rest
	if first {
		sender = c.first
	}
	for range passes {
		sent, err := again(ctx, sender.ScheduleOnce)
		if err != nil {
			return err
		}
		if !first || !c.wire.late { // a late answer keeps its sender waiting over rounds
			if err := drain(ctx, sender); err != nil {
				return err
			}
		}
		found, err := c.reconcile(ctx)
		if err != nil || sent+found == 0 {
			return err
		}
	}
	return nil
}

func (c *cell) reconcile(ctx context.Context) (found int, err error) {
	steps := []func(context.Context) (int, error){c.reconciler.TakeOver, c.reconciler.Look}
	if c.payment.ChargeBefore != nil {
		steps = append(steps, c.reconciler.Expire)
	}
	for _, step := range steps {
		n, err := again(ctx, step)
		found += n
		if err != nil {
			return found, err
		}
	}
	return found, nil
}

// again repeats a step that failed, as the processes' loops do: a busy machine can
// carry any of them past its time limit.
func again(ctx context.Context, step func(context.Context) (int, error)) (found int, err error) {
	for range triesMax {
		if found, err = step(ctx); err == nil {
			break
		}
	}
	return found, err
}

// triesMax ends what does not get better.
const triesMax = 5

// drainLate waits until the answers that came after the lease have been told.
func (s *stage) drainLate(t testing.TB) {
	t.Helper()
	for _, c := range s.cells {
		require.NoError(t, drain(t.Context(), c.first), c.name())
	}
}

type drainer interface{ Drain(context.Context) error }

func drain(ctx context.Context, d drainer) error {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return d.Drain(bounded)
}

// facts is what the database says about a cell's payment in the end.
type facts struct {
	state      payment.OperationState
	person     bool   // a person is waited for
	settledBy  string // the source of the evidence that settled it
	attempts   int
	maySent    int // attempts that are not proven to be not sent
	notTaken   int // of those, answered "not taken" by the provider itself
	entries    int
	entriesSum int64
	invoice    bool // held
	finals     int  // final events
	charged    int64

	sends   int  // requests that reached the provider
	stirred bool // something changed after it was final
}

//go:embed facts.sql
var factsSQL string

func (s *stage) facts(t testing.TB) map[uuid.UUID]facts {
	t.Helper()
	rows, err := s.db.App.Query(t.Context(), factsSQL)
	require.NoError(t, err)
	found := map[uuid.UUID]facts{}
	var id uuid.UUID
	var f facts
	_, err = pgx.ForEachRow(rows, []any{
		&id, &f.state, &f.person, &f.settledBy, &f.attempts, &f.maySent, &f.notTaken, &f.entries, &f.entriesSum, &f.charged, &f.invoice, &f.finals,
	}, func() error {
		found[id] = f
		return nil
	})
	require.NoError(t, err)
	return found
}

// look notes where the cells stand.
func (s *stage) look(t testing.TB, now time.Duration) {
	t.Helper()
	found := s.facts(t)
	for _, c := range s.cells {
		c.end = found[c.payment.OperationID]
		if c.end.state.Final() && c.finalWhen == 0 {
			c.finalWhen = max(now, time.Second)
		}
	}
}

func (s *stage) sends(c *cell) int {
	return s.sim.Oracle().References[c.payment.OperationID.String()].Sends
}
