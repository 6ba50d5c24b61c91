package testkit

import (
	_ "embed"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

//go:embed clock.sql
var clockSQL string

// SetNow moves the clock of this database, payonce_now(), to the real time plus
// ahead, from where it runs on. Statements that begin after the return see it; a
// second call counts from the real time again. The clocks of Go, such as a
// sender's stop-deadline, do not move.
func (d *Database) SetNow(t testing.TB, ahead time.Duration) {
	t.Helper()
	d.clock.Do(func() {
		_, err := d.Owner.Exec(t.Context(), clockSQL)
		require.NoError(t, err)
	})
	_, err := d.Owner.Exec(t.Context(), "UPDATE testkit_clock SET ahead = $1", ahead)
	require.NoError(t, err)
}
