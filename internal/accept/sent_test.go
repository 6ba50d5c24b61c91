package accept

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func sent(ago time.Duration) func(*Command) {
	return func(c *Command) { c.SentAt = time.Now().Add(-ago) }
}

// A topic is read again from its beginning. What was accepted and is remembered gets
// its answer; what nobody remembers is not charged.
func TestI1_ACommandOlderThanTheKeyWindowIsAnsweredAndNeverAccepted(t *testing.T) {
	t.Parallel()
	d := newTill(t)
	d.rules.KeyWindow = 24 * time.Hour
	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, "k-1", "INV-1", sent(23*time.Hour)))[0].Outcome)
	require.Equal(t, OutcomeReplayed, d.accept(t, d.order(t, "k-1", "INV-1", sent(25*time.Hour)))[0].Outcome, "its key is there")
	require.Equal(t, OutcomeMismatched, d.accept(t, d.order(t, "k-1", "INV-9", sent(25*time.Hour)))[0].Outcome)

	rows := d.rows(t)
	require.Equal(t, Result{Outcome: OutcomeExpired}, d.accept(t, d.order(t, "k-2", "INV-2", sent(25*time.Hour)))[0])
	require.Equal(t, rows, d.rows(t), "it left nothing")
	require.Equal(t, OutcomeAccepted, d.accept(t, d.order(t, "k-2", "INV-2"))[0].Outcome, "sent anew, it is a new one")
}
