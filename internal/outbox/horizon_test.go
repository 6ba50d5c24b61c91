package outbox

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// step is one lease as the horizon sees it.
func (h *horizon) step(oldest, own uint64, seq int64) {
	m := h.mark()
	h.observe(m, oldest, own)
	h.read(m, seq)
	h.emptied(m, 0, seq)
}

func TestACursorFollowsOnceEarlierTransactionsHaveEnded(t *testing.T) {
	t.Parallel()
	var h horizon
	h.step(100, 100, 10) // read 10
	h.step(101, 101, 20) // 10 is settled once all below 101 have ended
	require.Zero(t, h.cursors[0])
	h.step(102, 102, 30) // they have, as this step's snapshot says
	require.Zero(t, h.cursors[0], "this step's read may be older than what it just learned")
	h.step(103, 103, 40)
	require.EqualValues(t, 10, h.cursors[0])
	h.step(104, 104, 50)
	require.EqualValues(t, 20, h.cursors[0])
}

func TestACursorWaitsForATransactionThatIsHeldOpenAndThenCatchesUp(t *testing.T) {
	t.Parallel()
	var h horizon
	h.step(100, 100, 10)
	for own := uint64(101); own < 200; own++ {
		h.step(50, own, int64(own)) // 50 is held open
	}
	require.Zero(t, h.cursors[0])
	m := h.mark()
	h.observe(m, 250, 0) // an idle look; 50 has ended
	require.Zero(t, h.cursors[0])
	h.emptied(h.mark(), 0, everything)
	require.EqualValues(t, 198, h.cursors[0], "all that was seen before the last step began")
}

func TestWhatWasLearnedMeanwhileIsNotUsedForAnOlderLook(t *testing.T) {
	t.Parallel()
	var h horizon
	h.step(100, 100, 10)
	h.step(101, 101, 20)
	slow := h.mark() // its snapshot is taken about now
	h.step(102, 102, 30)
	h.emptied(slow, 0, everything)
	require.Zero(t, h.cursors[0])
}

func TestADatabaseThatWentBackIsNoticed(t *testing.T) {
	t.Parallel()
	var h horizon
	for own := uint64(100); own < 110; own++ {
		h.step(own, own, int64(own))
	}
	require.NotZero(t, h.cursors[0])
	before := h.mark()
	h.step(90, 90, 60)
	require.Zero(t, h.cursors[0])
	h.emptied(before, 0, everything)
	require.Zero(t, h.cursors[0], "a look that began before is about the old database")
}

func TestATransactionThatDidNotWriteToTheOutboxHoldsNoCursorBack(t *testing.T) {
	t.Parallel()
	var h horizon
	for own := uint64(100); own < 110; own++ {
		h.step(50, own, int64(own)) // 50 is held open
	}
	h.open(h.mark(), []string{"3/17", "4/99"}) // up to 109 was seen
	h.step(50, 110, 110)
	require.Zero(t, h.cursors[0])
	h.open(h.mark(), []string{"4/99"}) // 3/17 has ended
	h.step(50, 111, 111)
	require.Zero(t, h.cursors[0])
	h.open(h.mark(), []string{"5/12"}) // so has 4/99
	h.step(50, 112, 112)
	require.EqualValues(t, 109, h.cursors[0])
}

func TestAPreparedTransactionIsNotTakenForEnded(t *testing.T) {
	t.Parallel()
	var h horizon
	h.step(50, 100, 100)
	h.open(h.mark(), []string{"3/17"})
	h.open(h.mark(), []string{"-1/700"}) // 3/17, prepared
	h.step(50, 101, 101)
	require.Zero(t, h.cursors[0])
	h.open(h.mark(), nil)
	h.step(50, 102, 102)
	require.EqualValues(t, 100, h.cursors[0])
}
