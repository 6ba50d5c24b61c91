package matrix_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/payonce/payonce/pkg/payment"
)

const legend = `# What becomes of a payment: end state, what settled it, and how many attempts were made.
#   captured, failed   final
#   open               unknown; "person": a person is waited for, "asking": the provider is asked on
#   pending            the provider said that the result follows, and cannot be asked for it
#   a, i, c            settled by the answer to an attempt, by an inquiry, by closing the door
#   -                  cannot be (see impossible in deeds_test.go)
`

// text is a cell of the table.
func (c *cell) text() string {
	attempts := fmt.Sprint(c.end.attempts)
	if c.end.attempts > 2 {
		attempts = "3+" // chance decides how many more
	}
	switch {
	case c.end.state == payment.OperationSucceeded:
		return "captured " + c.end.settledBy[:1] + attempts
	case c.end.state == payment.OperationFailed:
		return "failed " + c.end.settledBy[:1] + attempts
	case c.end.state == payment.OperationPending:
		return "pending " + attempts
	case c.end.state != payment.OperationUnknown:
		return string(c.end.state) + "? " + attempts
	case c.end.person:
		return "open person " + attempts
	default:
		return "open asking " + attempts
	}
}

// table renders one world's cells, wires down and deeds across.
func (s *stage) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n== %s\n%-25s", s.world.name, "")
	for _, d := range deeds() {
		fmt.Fprintf(&b, " %-17s", d.name)
	}
	for _, broken := range wires() {
		fmt.Fprintf(&b, "\n%-25s", broken.name)
		for _, d := range deeds() {
			fmt.Fprintf(&b, " %-17s", s.cellText(broken, d))
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *stage) cellText(broken wire, d deed) string {
	for _, c := range s.cells {
		if c.wire.name == broken.name && c.deed.name == d.name {
			return c.text()
		}
	}
	return "-"
}

// worstMax is how many of the slowest cells a report names.
const worstMax = 5

// summary says in plain lines how it went, for `make proof`.
func summary(stages []*stage, wrong []string, took time.Duration) string {
	var b strings.Builder
	ends := map[string]int{}
	var settled []*cell
	total := 0
	for _, s := range stages {
		for _, c := range s.cells {
			total++
			ends[strings.TrimRight(c.text(), " aic0123456789+")]++
			if c.finalWhen > 0 {
				settled = append(settled, c)
			}
		}
	}
	fmt.Fprintf(&b, "\n%d cells in %s: %d strategies × %d wires × %d deeds, without what cannot be\n",
		total, took.Round(time.Second), len(stages), len(wires()), len(deeds()))
	for _, name := range slices.Sorted(maps.Keys(ends)) {
		fmt.Fprintf(&b, "  %5d %s\n", ends[name], name)
	}
	fmt.Fprintf(&b, "  %5d violations: charged twice, captured or failed against the provider's books, open without need\n", len(wrong))
	slices.SortStableFunc(settled, func(x, y *cell) int { return cmp.Compare(y.finalWhen, x.finalWhen) })
	fmt.Fprintf(&b, "Latest to be settled, after the claim:\n")
	for _, c := range settled[:min(worstMax, len(settled))] {
		fmt.Fprintf(&b, "  %8s  %s: %s: %s\n", c.finalWhen, c.stage.world.name, c.name(), c.text())
	}
	for _, line := range wrong {
		fmt.Fprintf(&b, "VIOLATION %s\n", line)
	}
	return b.String()
}
