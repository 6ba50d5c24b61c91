package provider_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payonce/payonce/internal/provider"
)

var update = flag.Bool("update", false, "write the golden files anew")

// declared are the capabilities that lead to different strategies.
func declared() []named[provider.Capabilities] {
	key := provider.Key{Supported: true, Header: "Idempotency-Key", LengthMax: 255, Horizon: time.Hour, KeepsFailures: true, Serialises: true}
	vague := provider.Inquiry{Supported: true, Grace: time.Minute}
	sure := provider.Inquiry{Supported: true, NotFoundAuthoritative: true, Grace: time.Minute}
	all := []named[provider.Capabilities]{
		{"nothing", provider.Capabilities{}},
		{"settlement file", provider.Capabilities{SettlementFile: true}},
		{"key", provider.Capabilities{Key: key}},
		{"inquiry, not-found vague", provider.Capabilities{Inquiry: vague}},
		{"inquiry, not-found sure", provider.Capabilities{Inquiry: sure}},
		{"inquiry sure, void", provider.Capabilities{Inquiry: sure, VoidByReference: true}},
		{"key, inquiry vague", provider.Capabilities{Key: key, Inquiry: vague}},
		{"key, inquiry sure", provider.Capabilities{Key: key, Inquiry: sure}},
		{"key, inquiry sure, void", provider.Capabilities{Key: key, Inquiry: sure, VoidByReference: true}},
		{"key, inquiry sure, void, prepared (stripe)", provider.Capabilities{Key: key, Inquiry: sure, VoidByReference: true, Prepares: true}},
	}
	for i := range all {
		all[i].value.Timeout = 5 * time.Second
	}
	return all
}

type named[T any] struct {
	name  string
	value T
}

// situations are told in minutes around the first possible send at 12:00 and the
// last one at 12:02.
func situations() []named[provider.Situation] {
	at := func(minute int) time.Time { return time.Date(2026, 1, 2, 12, minute, 0, 0, time.UTC) }
	base := provider.Situation{FirstPossibleSend: at(0), LastPossibleSend: at(2)}
	with := func(change func(*provider.Situation)) provider.Situation {
		s := base
		change(&s)
		return s
	}
	return []named[provider.Situation]{
		{"own send may be in flight", with(func(s *provider.Situation) { s.Now = at(1) })},
		{"and not found meanwhile", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt = at(1), at(1) })},
		{"leases over", with(func(s *provider.Situation) { s.Now = at(2) })},
		{"not found before the grace was over", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt = at(10), at(2) })},
		{"not found after the grace", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt = at(10), at(3) })},
		{"leases over, chargeBefore passed", with(func(s *provider.Situation) { s.Now, s.ChargeBefore = at(10), at(10) })},
		{"not found, chargeBefore passed", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt, s.ChargeBefore = at(10), at(3), at(10) })},
		{"leases over, horizon passed", with(func(s *provider.Situation) { s.Now = at(55) })},
		{"not found, horizon passed", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt = at(55), at(3) })},
		{"not found, door closed", with(func(s *provider.Situation) { s.Now, s.NotFoundAskedAt, s.DoorClosed = at(10), at(3), true })},
		{"last possible send not known", with(func(s *provider.Situation) {
			s.Now, s.NotFoundAskedAt, s.LastPossibleSend = at(10), at(9), time.Time{}
		})},
	}
}

func TestU2_TheStrategyIsThisTable(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	for _, c := range declared() {
		fmt.Fprintf(&table, "%s\n", c.name)
		for _, s := range situations() {
			fmt.Fprintf(&table, "  %-40s %s\n", s.name, provider.Next(c.value, s.value))
		}
		table.WriteString("\n")
	}
	golden(t, "strategy.golden", table.String())
}

func TestU1_ExplainSaysWhatFollowsAndWhatIsLeft(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, c := range declared() {
		fmt.Fprintf(&text, "== %s\n%s\n", c.name, provider.Explain(c.value))
	}
	golden(t, "explain.golden", text.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run the test with -update after reading the difference")
}

func drawCapabilities(t *rapid.T) provider.Capabilities {
	c := provider.Capabilities{VoidByReference: rapid.Bool().Draw(t, "void")}
	if rapid.Bool().Draw(t, "keys") {
		c.Key = provider.Key{Supported: true, LengthMax: 64, Horizon: drawDuration(t, "horizon")}
	}
	if rapid.Bool().Draw(t, "inquiry") {
		c.Inquiry = provider.Inquiry{Supported: true, NotFoundAuthoritative: rapid.Bool().Draw(t, "authoritative"), Grace: drawDuration(t, "grace")}
	}
	return c
}

func drawDuration(t *rapid.T, name string) time.Duration {
	return time.Duration(rapid.Int64Range(1, int64(4*time.Hour)).Draw(t, name))
}

func drawSituation(t *rapid.T) provider.Situation {
	epoch := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	moment := func(name string) time.Time {
		if rapid.IntRange(0, 5).Draw(t, name+" known") == 0 {
			return time.Time{}
		}
		return epoch.Add(drawDuration(t, name))
	}
	return provider.Situation{
		Now: epoch.Add(drawDuration(t, "now")), FirstPossibleSend: moment("first"), LastPossibleSend: moment("last"),
		NotFoundAskedAt: moment("not found"), ChargeBefore: moment("charge before"), DoorClosed: rapid.Bool().Draw(t, "door closed"),
	}
}

func TestU2_AResendNeverLeavesWhereItCouldBeANewCharge(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, s := drawCapabilities(t), drawSituation(t)
		if provider.Next(c, s) != provider.StepResend {
			return
		}
		require.True(t, c.Key.Supported, "without a key")
		require.True(t, s.Now.Before(s.FirstPossibleSend.Add(c.Key.Horizon)), "after the horizon")
		require.False(t, s.Now.Before(s.LastPossibleSend), "while our own send may be in flight")
		require.True(t, s.ChargeBefore.IsZero() || s.Now.Before(s.ChargeBefore), "after chargeBefore")
		require.False(t, s.DoorClosed, "through a closed door")
		require.True(t, !c.Inquiry.Supported || !s.NotFoundAskedAt.Before(s.LastPossibleSend), "without having asked since the last send")
	})
}

func TestU4_NotTakenIsNeverSettledWithoutAnAuthoritativeLateNotFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, s := drawCapabilities(t), drawSituation(t)
		step := provider.Next(c, s)
		if step != provider.StepSettleNotTaken && step != provider.StepCloseDoor {
			return
		}
		require.True(t, c.Inquiry.Supported && c.Inquiry.NotFoundAuthoritative)
		require.False(t, s.LastPossibleSend.IsZero(), "the last possible send is not known")
		require.False(t, s.NotFoundAskedAt.Before(s.LastPossibleSend.Add(c.Inquiry.Grace)), "before the grace")
		if step == provider.StepSettleNotTaken {
			require.True(t, s.DoorClosed || !c.VoidByReference, "with an open door that could be closed")
		}
	})
}

func TestU2_AProviderThatDeclaresNothingIsNeverSentToAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		require.Equal(t, provider.StepWait, provider.Next(provider.Capabilities{}, drawSituation(t)))
	})
}

func TestU6_TheInquiryScheduleGrowsAndNeverGivesUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		age := time.Duration(rapid.Int64Range(0, int64(10*365*24*time.Hour)).Draw(t, "age"))
		wait := provider.NextCheck(age, rapid.Float64Range(0, 0.999999).Draw(t, "rnd"))
		require.GreaterOrEqual(t, wait, provider.CheckIntervalMin)
		require.LessOrEqual(t, wait, provider.CheckIntervalMax)
		require.LessOrEqual(t, wait, max(age, provider.CheckIntervalMin), "a young unknown is not left alone for long")
	})
	var age time.Duration
	var waits []string
	for range 14 {
		wait := provider.NextCheck(age, 0)
		waits = append(waits, wait.String())
		age += wait
	}
	require.Equal(t, "1s 1s 2s 4s 8s 16s 32s 1m4s 2m8s 4m16s 8m32s 17m4s 34m8s 1h0m0s", strings.Join(waits, " "))
}
