package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"
)

// result is one figure. Reference, Ratio, Goal and Pass are there where it is
// compared with another one that was measured in the same run.
type result struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Value         float64  `json:"value"`
	Unit          string   `json:"unit"`
	Reference     *float64 `json:"reference"`
	ReferenceName *string  `json:"reference_name"`
	Ratio         *float64 `json:"ratio"`
	Goal          *float64 `json:"goal"`
	Pass          *bool    `json:"pass"`
}

// machine is what all figures of the run stand on.
func machine() result {
	return result{ID: "machine", Name: "processors, shared by clients, servers and services", Value: float64(runtime.NumCPU()), Unit: "cores"}
}

// against compares a result with a reference; at least its goal times as much passes.
func (r result) against(name string, reference float64) result {
	ratio := r.Value / reference
	pass := ratio >= *r.Goal
	r.Reference, r.ReferenceName, r.Ratio, r.Pass = &reference, &name, &ratio, &pass
	return r
}

// atMost says that the value itself is the goal: any more fails.
func (r result) atMost(goal float64) result {
	pass := r.Value <= goal
	r.Goal, r.Pass = &goal, &pass
	return r
}

func printResults(out io.Writer, results []result) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%.4g %s\t%s\n", r.ID, r.Name, r.Value, r.Unit, r.verdict())
	}
	_ = table.Flush() // a broken terminal changes no figure
}

func (r result) verdict() string {
	switch {
	case r.Pass == nil:
		return ""
	case r.Ratio == nil:
		return passed(*r.Pass)
	default:
		return fmt.Sprintf("%.2f x %s (%.4g), goal %.2g: %s", *r.Ratio, *r.ReferenceName, *r.Reference, *r.Goal, passed(*r.Pass))
	}
}

func passed(pass bool) string {
	if pass {
		return "ok"
	}
	return "MISSED"
}

func writeResults(path string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return fmt.Errorf("rendering the results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil { //nolint:gosec // figures, for everyone
		return fmt.Errorf("writing the results: %w", err)
	}
	return nil
}
