package matrix_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

var (
	update = flag.Bool("update", false, "write the golden file anew")
	report = flag.String("report", "", "write the table and a summary to this file")
)

//nolint:tparallel // the table is made when all worlds have ended
func TestP1_P2_P3_WhereverTheWireBreaksMoneyMovesOnceAndTheStateIsTrue(t *testing.T) {
	t.Parallel()
	began := time.Now()
	var mu sync.Mutex
	var wrong []string
	stages := make([]*stage, len(worlds()))
	t.Run("worlds", func(t *testing.T) {
		for i, w := range worlds() {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				s := play(t, w, possible(w))
				found := s.judge()
				mu.Lock()
				defer mu.Unlock()
				stages[i], wrong = s, append(wrong, found...)
			})
		}
	})
	if t.Failed() || slices.Contains(stages, nil) {
		return // there is no whole table: some worlds failed, or were not asked for
	}
	table := legend
	for _, s := range stages {
		table += s.table()
	}
	if *report != "" {
		require.NoError(t, os.WriteFile(*report, []byte(table+summary(stages, wrong, time.Since(began))), 0o600))
	}
	assert.Empty(t, wrong, strings.Join(wrong, "\n"))
	golden(t, table)
}

// story is what happens to one cell.
type story struct {
	wire wire
	deed deed
}

// named finds a row of one of the axes.
func named[T interface{ title() string }](axis []T, name string) T {
	for _, row := range axis {
		if row.title() == name {
			return row
		}
	}
	panic("no row is named " + name)
}

func (w world) title() string { return w.name }
func (w wire) title() string  { return w.name }
func (d deed) title() string  { return d.name }

// possible returns the stories that can be in a world.
func possible(w world) []story {
	var all []story
	for _, broken := range wires() {
		for _, d := range deeds() {
			if impossible(w, broken, d) == "" {
				all = append(all, story{broken, d})
			}
		}
	}
	return all
}

// play takes one world's stories to their ends.
func play(t *testing.T, w world, stories []story, changes ...func(*stage)) *stage {
	t.Helper()
	s := newStage(t, w)
	for _, change := range changes {
		change(s)
	}
	for _, told := range stories {
		newCell(t, s, told)
	}
	s.run(t)
	return s
}

// judge holds every cell against what the provider really did, and the log against
// the promise that it has no errors.
func (s *stage) judge() []string {
	oracle := s.sim.Oracle()
	var wrong []string
	for _, c := range s.cells {
		wrong = append(wrong, judge(c, oracle.References[c.payment.OperationID.String()])...)
	}
	for _, entry := range s.problems.All() {
		wrong = append(wrong, s.world.name+": logged as an error: "+entry.Message)
	}
	return wrong
}

func golden(t *testing.T, got string) {
	t.Helper()
	path := filepath.Join("testdata", "matrix.golden")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run the test with -update after reading the difference")
}
