package main

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

func TestAPlanRepeatsNearlyAThirdAtOnceSoonAndLate(t *testing.T) {
	t.Parallel()
	const requests, rate = 20_000, 500
	p := newPlan(requests, rate, 1)
	require.Len(t, p.shots, requests)
	require.InDelta(t, 1-repeatedShare, float64(len(p.keys))/requests, 0.02)
	seen, kinds, previous := map[int]bool{}, map[string]int{}, time.Duration(0)
	for _, s := range p.shots {
		require.GreaterOrEqual(t, s.at, previous, "requests are in the order of their times")
		previous = s.at
		switch behind := s.at - p.at[s.order]; {
		case !seen[s.order]:
			require.Zero(t, behind)
		case behind == 0:
			kinds["at once"]++
		case behind < lateAfter:
			kinds["soon"]++
		default:
			kinds["late"]++
		}
		seen[s.order] = true
	}
	for _, kind := range []string{"at once", "soon", "late"} {
		require.Greater(t, kinds[kind], requests/25, kind)
	}
}

func TestRepeatsAreAnsweredWellOnlyAsReplaysOfOnePayment(t *testing.T) {
	t.Parallel()
	first, other := uuid.New(), uuid.New()
	for name, c := range map[string]struct {
		answers []answer
		well    int
	}{
		"a replay":               {[]answer{{class: accepted, id: first}, {class: accepted, id: first, replayed: true}}, 1},
		"the replay came before": {[]answer{{class: accepted, id: first, replayed: true}, {class: accepted, id: first}}, 1},
		"another payment":        {[]answer{{class: accepted, id: first}, {class: accepted, id: other, replayed: true}}, 0},
		"accepted twice":         {[]answer{{class: accepted, id: first}, {class: accepted, id: other}}, 0},
		"refused":                {[]answer{{class: accepted, id: first}, {class: "409"}}, 0},
	} {
		r := newRecord(&plan{})
		for _, a := range c.answers {
			r.note(a)
		}
		repeated, well := r.repeats()
		require.Equal(t, 1, repeated, name)
		require.Equal(t, c.well, well, name)
	}
}

func TestAResultIsHeldAgainstItsGoal(t *testing.T) {
	t.Parallel()
	goal := 2.0
	faster := result{Value: 300, Goal: &goal}.against("a reference", 100)
	require.InDelta(t, 3.0, *faster.Ratio, 0)
	require.True(t, *faster.Pass)
	require.False(t, *result{Value: 199, Goal: &goal}.against("a reference", 100).Pass)
	require.True(t, *result{}.atMost(0).Pass)
	require.False(t, *result{Value: 1}.atMost(0).Pass)
}
