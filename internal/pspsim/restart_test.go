package pspsim_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

func TestWhatWasAnsweredSurvivesARestart(t *testing.T) {
	t.Parallel()
	o := pspsim.Options{DataFile: filepath.Join(t.TempDir(), "charges")}
	b := start(t, o)
	captured := b.charge("R1", "k1")
	id := decode[pspsim.Movement](t, captured).ID
	b.refund(id, "F1", 300)
	b.script("decline", "refuse")
	declined := b.charge("R2", "k2")
	b.script("refuse")
	refused := b.charge("R3", "k3")
	b.faults(pspsim.Faults{})
	b.charge("R4", "k4")
	b.closeDoor("R4")
	b.closeDoor("R5")
	b.faults(pspsim.Faults{Rates: pspsim.Rates{Pending: 1, PendingMS: 3000}})
	b.charge("R6", "k6")
	before := b.server.Oracle()
	b.stop()

	b = start(t, o)
	b.eventually(func() bool { return b.counts("R6").Charged == 1 })
	after := b.server.Oracle()
	after.Totals["TRY"] = pspsim.Total{Charged: after.Totals["TRY"].Charged - 1000, Refunded: 300} // R6 captured since
	require.Equal(t, before.Totals, after.Totals)
	require.Equal(t, pspsim.Counts{Charged: 1, Voided: 1, Sends: 1}, b.counts("R4"))
	require.Equal(t, captured.body, b.charge("R1", "k1").body, "keys are kept")
	require.Equal(t, declined.body, b.charge("R2", "k2").body)
	require.Equal(t, refused.body, b.charge("R3", "k3").body)
	require.Equal(t, pspsim.StatusDeclined, decode[pspsim.Movement](t, b.charge("R5", "k5")).Status, "the door stays closed")
	require.Equal(t, 422, b.refund(id, "F2", 701).status)
}

// A kill leaves whole lines and perhaps a torn one. The file is read while the
// first server, which was never closed, still has it open.
func TestAKilledProviderKnowsAllThatItAnswered(t *testing.T) {
	t.Parallel()
	o := pspsim.Options{DataFile: filepath.Join(t.TempDir(), "charges")}
	b := start(t, o)
	var posts sync.WaitGroup
	for i := range 50 {
		posts.Go(func() { b.charge(string(rune('a'+i)), "") })
	}
	posts.Wait()
	data, err := os.ReadFile(o.DataFile)
	require.NoError(t, err)
	torn := filepath.Join(t.TempDir(), "torn")
	require.NoError(t, os.WriteFile(torn, append(data, `{"t":"move","se`...), 0o600))

	again := start(t, pspsim.Options{DataFile: torn})
	require.Equal(t, int64(50_000), again.server.Oracle().Totals["TRY"].Charged)
	require.Equal(t, 201, again.charge("new", "").status)
	again.stop()
	again = start(t, pspsim.Options{DataFile: torn})
	require.Equal(t, int64(51_000), again.server.Oracle().Totals["TRY"].Charged, "the torn line is gone and nothing after it is lost")
}

func TestADamagedDataFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"no JSON":        "charges\n",
		"a gap":          `{"t":"move","seq":2,"kind":"charge","ref":"R","amount":1,"currency":"TRY","status":"captured"}` + "\n",
		"no charge":      `{"t":"move","seq":1,"kind":"refund","ref":"R","charge":1,"amount":1,"currency":"TRY","status":"captured"}` + "\n",
		"another record": `{"t":"other"}` + "\n",
	} {
		path := filepath.Join(t.TempDir(), "charges")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		_, err := pspsim.New(pspsim.Options{DataFile: path})
		require.ErrorContains(t, err, "line 1", name)
	}
}
