package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// goodReport is of a run that is just good enough.
const goodReport = `{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000},
	"valid_rates":{"POST /v1/payments":{"coverage":{"accepted":50},"fuzzing":{"accepted":150}}}}`

func TestI11_OnlyACompleteRunOfManyCasesWithoutAFailureIsGood(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*report)
		says   string
	}{
		"failed":        {func(r *report) { r.Cases.WithFailures = 1 }, "1 cases failed"},
		"errors":        {func(r *report) { r.Errors = []json.RawMessage{[]byte(`{}`)} }, "reports 1 errors"},
		"given up":      {func(r *report) { r.Cases.Errored = 1 }, "1999 cases, fewer than 2000"},
		"many given up": {func(r *report) { r.Cases.Generated, r.Cases.Errored = 10_000, 201 }, "gave 201 of 10000 cases up, more than 2 %"},
		"few":           {func(r *report) { r.Cases.Generated = 1999 }, "1999 cases, fewer than 2000"},
		"broken off":    {func(r *report) { r.Complete = false }, "not complete"},
		"left out":      {func(r *report) { r.Operations.Tested = 2 }, "2 of 3 operations"},
		"refused":       {func(r *report) { r.Rates = nil }, "0 valid cases were accepted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r report
			require.NoError(t, json.Unmarshal([]byte(goodReport), &r))
			c.change(&r)
			text, err := json.Marshal(r)
			require.NoError(t, err)
			require.ErrorContains(t, judge(written(t, text)), c.says)
		})
	}
	require.NoError(t, judge(written(t, []byte(goodReport))))
	var aFew report
	require.NoError(t, json.Unmarshal([]byte(goodReport), &aFew))
	aFew.Cases.Generated, aFew.Cases.Errored = 10_000, 200
	text, err := json.Marshal(aFew)
	require.NoError(t, err)
	require.NoError(t, judge(written(t, text)))
	require.ErrorContains(t, judge(filepath.Join(t.TempDir(), "none")), "reading the report")
}

func written(t *testing.T, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}
