package matrix_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/provider/conformance"
	"github.com/payonce/payonce/internal/testkit/fixture"
	"github.com/payonce/payonce/pkg/payment"
)

// off makes the provider's clock differ from ours by the same time for ever.
func off(skew time.Duration) func(*stage) {
	return func(s *stage) { s.skew.Store(int64(skew)) }
}

// Nothing rests on a time that the provider writes: a key's age is counted by each
// side on its own clock, and questions are dated by ours.
func TestU2_U4_AProviderWhoseClockIsAnHourOffChangesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"key", "inquiry sure, void", "key, inquiry sure, void"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := named(worlds(), name)
			stories := []story{{says429WithADate(), named(deeds(), "lost")}}
			for _, told := range possible(w) {
				if told.wire.name == "cut after the request" || told.wire.late {
					stories = append(stories, told)
				}
			}
			want := ends(play(t, w, stories))
			for _, skew := range []time.Duration{-time.Hour, time.Hour} {
				s := play(t, w, stories, off(skew))
				require.Empty(t, s.judge(), skew)
				require.Equal(t, want, ends(s), skew)
			}
		})
	}
}

func ends(s *stage) map[string]string {
	texts := map[string]string{}
	for _, c := range s.cells {
		texts[c.name()] = c.text()
	}
	return texts
}

// says429WithADate wants to be asked again in a minute, by the provider's clock.
func says429WithADate() wire {
	body := `{"error":{"code":"too_many_requests","message":"nothing was taken"}}`
	return wire{name: "429 with a date", arrives: true, says429: true, breaks: handled(func(c *conformance.Conn, x *exchange) {
		at := x.stage.providersNow().Add(time.Minute).UTC().Format(http.TimeFormat)
		c.Write(fmt.Sprintf("HTTP/1.1 429 Too Many Requests\r\nRetry-After: %s\r\nContent-Length: %d\r\n\r\n%s", at, len(body), body))
		c.Ended()
	})}
}

// An outage of ours lasts for nearly as long as the provider keeps a key, and its
// clock gains meanwhile. The margin before the horizon is what both may differ by.
func TestU2_TheMarginBeforeTheHorizonCoversAProvidersClockThatGains(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		back    time.Duration // of our workers, after the claim
		gains   time.Duration
		want    string
		charged int
	}{
		"a minute before the margin, five minutes gained": {horizon - 6*time.Minute, 5 * time.Minute, "captured a2", 1},
		"within the margin nothing is resent":             {horizon - 4*time.Minute, 0, "open person 1", 1},
		"a clock that loses keeps keys for longer":        {horizon - 6*time.Minute, -time.Hour, "captured a2", 1},
		// What is left: more than the margin is not the horizon that was declared.
		"more gained than the margin": {horizon - 6*time.Minute, 10 * time.Minute, "captured a2", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := play(t, named(worlds(), "key"), []story{{named(wires(), "cut after the request"), named(deeds(), "took")}}, func(s *stage) {
				s.rounds = []round{{after: 0}, {after: c.back, begin: off(c.gains)}}
			})
			require.Equal(t, c.want, s.cells[0].text())
			charged := s.sim.Oracle().References[s.cells[0].payment.OperationID.String()].Charged
			require.Equal(t, c.charged, charged)
		})
	}
}

// The provider cannot be reached from a moment after the first send until long after
// the last moment at which the payments may be sent.
func TestU4_ChargeBeforePassesDuringAnOutage(t *testing.T) {
	t.Parallel()
	s := newStage(t, named(worlds(), "key, inquiry sure, void"))
	before := fixture.ChargeBefore(time.Now().Add(claimed + 5*time.Minute))
	cut := named(wires(), "cut after the request")
	never := newCell(t, s, story{named(wires(), "connection refused"), named(deeds(), "lost")}, before)
	taken := newCell(t, s, story{cut, named(deeds(), "took")}, before)
	lost := newCell(t, s, story{cut, named(deeds(), "lost")}, before)
	s.rounds = []round{
		{after: 0},
		{after: time.Second, begin: func(s *stage) { s.down.Store(true) }},
		{after: sendOver + grace/2}, // chargeBefore has passed
		{after: sendOver + 2*grace, begin: func(s *stage) {
			require.Equal(t, payment.OperationFailed, never.end.state, "no byte of it ever left")
			require.Equal(t, payment.OperationUnknown, taken.end.state, "an outage is no answer")
			require.Equal(t, payment.OperationUnknown, lost.end.state, "an outage is no answer")
			s.down.Store(false)
		}},
		{after: 3 * time.Hour},
	}
	s.run(t)
	require.Empty(t, s.judge())
	require.Equal(t, "captured i1", taken.text(), "it was taken in time, whenever we hear of it")
	require.Equal(t, "failed c1", lost.text(), "not resent after its last moment, and the door is closed")
	require.Zero(t, never.end.sends)
}
