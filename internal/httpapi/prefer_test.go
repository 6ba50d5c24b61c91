package httpapi

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestI3_APreferenceToWaitIsReadAsTheRFCSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lines []string
		want  int // in seconds
	}{
		"none":                     {nil, 0},
		"one":                      {[]string{"wait=7"}, 7},
		"capped":                   {[]string{"wait=31"}, 30},
		"far too large":            {[]string{"wait=99999999999999999999999999"}, 30},
		"zero":                     {[]string{"wait=0"}, 0},
		"no value":                 {[]string{"wait"}, 0},
		"empty value":              {[]string{`wait=""`}, 0},
		"negative":                 {[]string{"wait=-1"}, 0},
		"signed":                   {[]string{"wait=+1"}, 0},
		"a fraction":               {[]string{"wait=1.5"}, 0},
		"a unit":                   {[]string{"wait=5s"}, 0},
		"quoted":                   {[]string{`wait="5"`}, 5},
		"half quoted":              {[]string{`wait="5`}, 0},
		"white space":              {[]string{" wait = 5 "}, 5},
		"another case":             {[]string{"Wait=5"}, 5},
		"among others":             {[]string{"respond-async, wait=5; foo=bar, handling=lenient"}, 5},
		"in a second line":         {[]string{"respond-async", "wait=5"}, 5},
		"the first one counts":     {[]string{"wait=5, wait=10", "wait=20"}, 5},
		"a broken first one":       {[]string{"wait=x, wait=10"}, 0},
		"only a part of a name":    {[]string{"await=5, wait-=5"}, 0},
		"inside of a quoted value": {[]string{`note="a, wait=9; \", wait=8", wait=5`}, 5},
		"as a parameter":           {[]string{"foo; wait=5"}, 0},
		"empty members":            {[]string{",,;,wait=5,"}, 5},
	} {
		header := http.Header{"Prefer": c.lines}
		require.Equal(t, time.Duration(c.want)*time.Second, preferredWait(header), name)
	}
	require.Equal(t, "wait=30", applied(WaitMax))
}
