package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestI11_OnlyACompleteRunOfManyCasesWithoutAFailureIsGood(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct{ report, says string }{
		"good":       {`{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000}}`, ""},
		"failed":     {`{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000,"with_failures":1}}`, "1 cases failed"},
		"errors":     {`{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000},"errors":[{}]}`, "reports 1 errors"},
		"given up":   {`{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000,"errored":1}}`, "1999 cases"},
		"few":        {`{"complete":true,"operations":{"total":3,"tested":3},"test_cases":{"generated":1999}}`, "1999 cases, fewer than 2000"},
		"broken off": {`{"complete":false,"operations":{"total":3,"tested":3},"test_cases":{"generated":2000}}`, "not complete"},
		"left out":   {`{"complete":true,"operations":{"total":3,"tested":2},"test_cases":{"generated":2000}}`, "2 of 3 operations"},
		"no report":  {``, "reading the report"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "report.json")
			require.NoError(t, os.WriteFile(path, []byte(want.report), 0o600))
			err := judge(path)
			if want.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want.says)
		})
	}
}
