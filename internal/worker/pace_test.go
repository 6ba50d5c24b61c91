package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestW3_AHintIsKeptAndBounded(t *testing.T) {
	t.Parallel()
	start := time.Now()
	var p pause
	require.False(t, p.holds(start))
	p.ask(start, 3*time.Second)
	require.True(t, p.holds(start.Add(3*time.Second-1)))
	require.False(t, p.holds(start.Add(3*time.Second)))
	p.ask(start, time.Second)
	require.True(t, p.holds(start.Add(3*time.Second-1)), "a shorter hint shortens nothing")
	p.ask(start, time.Hour)
	require.False(t, p.holds(start.Add(pauseMax)))
}

func TestW3_PausesWithoutAHintGrowUntilTheProviderAnswers(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var p pause
	for _, want := range []time.Duration{pauseMin, 2 * pauseMin, 4 * pauseMin} {
		until := p.ask(now, 0)
		require.Equal(t, now.Add(want), until)
		require.Equal(t, until, p.ask(now.Add(want/2), 0), "what was in flight makes it no longer")
		p.answered(now.Add(want / 2))
		now = until
	}
	for range 10 {
		now = p.ask(now, 0)
	}
	require.Equal(t, now.Add(pauseGrownMax), p.ask(now, 0))
	now = p.until
	p.answered(now)
	require.Equal(t, now.Add(pauseMin), p.ask(now, 0))
}

func TestW3_TheAllowanceDoublesWithEachHealthyWindow(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := ramp{slots: 20, window: time.Second}
	require.Equal(t, 20, r.limit(now), "before any outage")
	r.begin(now)
	require.Equal(t, breakerProbes, r.limit(now))
	window := func() int {
		now = now.Add(time.Second)
		return r.limit(now)
	}
	require.Equal(t, 3, window(), "a provider that nobody asked proves nothing")
	r.answered()
	require.Equal(t, 6, window())
	r.answered()
	r.failed()
	require.Equal(t, 6, window(), "as many failures as answers spoil the window")
	r.answered()
	r.answered()
	r.failed()
	require.Equal(t, 12, window(), "a provider that always fails a little comes back, too")
	r.answered()
	require.Equal(t, 20, window())
	require.Zero(t, r.allowance, "and it is over")
}

func TestW3_TheAllowanceNeverExceedsTheSlots(t *testing.T) {
	t.Parallel()
	r := ramp{slots: 2, window: time.Second}
	r.begin(time.Now())
	require.Equal(t, 2, r.limit(time.Now()))
}
