package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
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
			r.note(t.Context(), a)
		}
		repeated, well := r.repeats()
		require.Equal(t, 1, repeated, name)
		require.Equal(t, c.well, well, name)
	}
}

func TestLatenciesAndRatesAreThoseOfAcceptedRequests(t *testing.T) {
	t.Parallel()
	r := newRecord(&plan{})
	r.took = 2 * time.Second
	r.note(t.Context(), answer{class: accepted, latency: 800 * time.Millisecond})
	for range 9 {
		r.note(t.Context(), answer{class: "429", latency: time.Millisecond})
	}
	require.InDelta(t, 800, r.quantile(50), 1)
	figures := map[string]float64{}
	for _, figure := range r.results("id", "loop") {
		figures[figure.Name] = figure.Value
	}
	require.InDelta(t, 10, figures["loop: requests"], 0)
	require.InDelta(t, 0.5, figures["answered with a payment"], 0)
	require.InDelta(t, 9, figures["not accepted: 429"], 0)
}

func TestWhatTheEndOfARunCancelsIsInNoFigure(t *testing.T) {
	t.Parallel()
	ctx, end := context.WithCancel(t.Context())
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // from then on the server sees the client leave
		if requests.Add(1) == 1 {
			w.WriteHeader(http.StatusAccepted)
			_, _ = w.Write([]byte(`{"id":"019b0000-0000-7000-8000-000000000001"}`))
			return
		}
		end()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	r := closedLoop(ctx, &cell{base: server.URL, shops: make([]shop, 1)}, newPlanOfFirsts(9), 1)
	require.EqualValues(t, 2, requests.Load())
	require.Len(t, r.answers, 1)
	require.Equal(t, accepted, r.answers[0].class)
}

func TestRepeatsInFlightAreThoseSentBeforeTheFirstAnswer(t *testing.T) {
	t.Parallel()
	r, began := newRecord(&plan{}), time.Now()
	const answered = 20 * time.Millisecond
	for _, after := range []time.Duration{answered + 1, 0, answered / 2, answered} { // answers come in any order
		r.note(t.Context(), answer{class: accepted, due: began.Add(after), latency: answered})
	}
	require.Equal(t, 1, r.inFlight())
}

// falling is a machine that grows slower with every measurement.
type falling struct {
	name string
	seen *[]string
}

func (f falling) accept(context.Context, time.Duration) (float64, error) {
	*f.seen = append(*f.seen, f.name)
	return float64(100 - len(*f.seen)), nil
}

func TestS3_ContendersTakeTurnsAndAMachineThatGrowsSlowerFavorsNone(t *testing.T) {
	t.Parallel()
	var seen []string
	medians, err := inTurns(t.Context(), time.Second, falling{"a", &seen}, falling{"b", &seen})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "b", "a", "a", "b"}, seen)
	require.Equal(t, []float64{96, 97}, medians)
}

func TestS3_TheFirstSecondsOfPgbenchAreItsWarmUp(t *testing.T) {
	t.Parallel()
	perSecond, err := steady([]byte("progress: 1.0 s, 10.0 tps, lat 1 ms\nprogress: 2.0 s, 20.0 tps\nprogress: 3.0 s, 400.0 tps\nprogress: 4.0 s, 500.5 tps\n"))
	require.NoError(t, err)
	require.InDelta(t, 450.25, perSecond, 0)
	_, err = steady([]byte("progress: 1.0 s, 10.0 tps"))
	require.Error(t, err)
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
