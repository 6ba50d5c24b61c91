package matrix_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

// A test that finds nothing proves something only if it can find something. Each
// of these providers breaks its word in one way, so that the strategy that follows
// from it is wrong, and the same judge has to say so.
func TestU1_U4_TheMatrixSeesAStrategyThatIsWrong(t *testing.T) {
	t.Parallel()
	for _, lie := range []struct {
		name, world string
		tell        func(*pspsim.Faults)
		wire, deed  string
		found       string
	}{
		{
			"keys that the provider does not look at", "key", func(f *pspsim.Faults) { f.Keys, f.ForgetAfter = pspsim.KeysOff, 0 },
			"cut after the request", "took", "P1: charged 2 times",
		},
		{
			"keys kept for less than was said", "key", func(f *pspsim.Faults) { f.ForgetAfter = pspsim.Duration(time.Minute) },
			"502 page", "took", "P1: charged 2 times",
		},
		{
			"a sure \"not found\" of what is there", "inquiry sure",
			func(f *pspsim.Faults) { f.Inquiry, f.InquiryLag = pspsim.InquiryLagging, pspsim.Duration(inquiryLag) },
			"silence", "took", "P3: failed, and the provider holds 1 charges",
		},
		{
			"more delay than the grace covers, and no door", "inquiry sure", func(*pspsim.Faults) {},
			"cut after the request", "took much later", "P3: failed, and the provider holds 1 charges",
		},
	} {
		t.Run(lie.name, func(t *testing.T) {
			t.Parallel()
			w := named(worlds(), lie.world)
			lie.tell(&w.truth)
			s := play(t, w, []story{{named(wires(), lie.wire), named(deeds(), lie.deed)}})
			require.Contains(t, strings.Join(s.judge(), "\n"), lie.found, "%+v", s.cells[0].end)
		})
	}
}
