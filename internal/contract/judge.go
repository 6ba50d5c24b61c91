package main

import (
	"encoding/json"
	"fmt"
	"os"
)

// report is what we read of the tool's.
type report struct {
	Complete   bool              `json:"complete"`
	Errors     []json.RawMessage `json:"errors"`
	Operations struct {
		Total  int `json:"total"`
		Tested int `json:"tested"`
	} `json:"operations"`
	Cases struct {
		Generated    int `json:"generated"`
		WithFailures int `json:"with_failures"`
		Errored      int `json:"errored"` // given up by the tool, nearly always before they were sent
	} `json:"test_cases"`
	// Rates count valid requests, by operation and phase.
	Rates map[string]map[string]struct {
		Accepted int `json:"accepted"`
	} `json:"valid_rates"`
}

// accepted is how many valid requests were answered with what they asked for.
func (r report) accepted() int {
	sum := 0
	for _, phases := range r.Rates {
		for _, rate := range phases {
			sum += rate.Accepted
		}
	}
	return sum
}

// judge reads a report, says what it says in one line, and returns why it is not good
// enough.
func judge(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	tried := r.Cases.Generated - r.Cases.Errored
	fmt.Fprintf(os.Stdout, "contract: %d cases against %d of %d operations, %d valid ones accepted, %d failed; %d more were given up\n",
		tried, r.Operations.Tested, r.Operations.Total, r.accepted(), r.Cases.WithFailures, r.Cases.Errored)
	switch {
	case r.Cases.WithFailures > 0:
		return fmt.Errorf("%d cases failed", r.Cases.WithFailures)
	case len(r.Errors) > 0:
		return fmt.Errorf("the tool reports %d errors", len(r.Errors))
	case !r.Complete || r.Operations.Tested < r.Operations.Total:
		return fmt.Errorf("the run was not complete: %d of %d operations", r.Operations.Tested, r.Operations.Total)
	case r.Cases.Errored*100 > r.Cases.Generated*ErroredMax:
		return fmt.Errorf("the tool gave %d of %d cases up, more than %d %%", r.Cases.Errored, r.Cases.Generated, ErroredMax)
	case tried < CasesMin:
		return fmt.Errorf("%d cases, fewer than %d", tried, CasesMin)
	case r.accepted() < AcceptedMin:
		return fmt.Errorf("%d valid cases were accepted, fewer than %d", r.accepted(), AcceptedMin)
	}
	return nil
}
