package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/pspsim"
	"github.com/payonce/payonce/internal/testkit"
)

// dockerScript stands for Docker's command line in front of services that run as
// processes. It notes what it was asked, and kills nothing.
const dockerScript = `#!/bin/sh
echo "$*" >>"%[1]s/asked"
case "$*" in
*" port postgres 5432") echo "%[2]s" ;;
*" port kafka 9092") echo "%[3]s" ;;
*" port intake 8080") echo "%[4]s" ;;
*" port pspsim 8090") echo "%[5]s" ;;
*" port pspsim-nokeys 8090") echo "%[6]s" ;;
*" config --format json") cat "%[1]s/config.json" ;;
*" ps --quiet") echo first second ;;
inspect*) cat "%[1]s/restarts" ;;
*" kill "* | *" start "*) ;;
*) echo "docker was asked: $*" >&2; exit 1 ;;
esac
`

// newProject builds a stage that runs until the test ends, puts a docker before it,
// and returns the folder in which that one keeps what it answers and was asked.
func newProject(t *testing.T) (s *stage, folder string) {
	t.Helper()
	s = newStage(Options{
		Payments: 1, Program: os.Args[0], Out: t.Output(), Log: zap.NewNop(), Database: testkit.SuperuserURL(t),
	}, func(err error) { t.Error(err) })
	t.Cleanup(s.close)
	require.NoError(t, s.build(t.Context()))
	parts, ok := s.parts.(*built)
	require.True(t, ok)

	folder = t.TempDir()
	inside := func(outside string) string {
		changed, err := at("postgres:5432", outside)
		require.NoError(t, err)
		return changed
	}
	config, err := json.Marshal(map[string]any{"services": map[string]any{
		"intake":  map[string]any{"environment": map[string]string{"PAYONCE_DATABASE_URL": inside(s.databaseURL)}},
		"billing": map[string]any{"environment": map[string]string{"BILLING_DATABASE_URL": inside(parts.billing.OwnerURL)}},
	}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "config.json"), config, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "restarts"), []byte("0 /first\n0 /second\n"), 0o600))
	pool := s.pool.Config().ConnConfig
	script := fmt.Sprintf(dockerScript, folder, fmt.Sprintf("%s:%d", pool.Host, pool.Port), s.brokers[0], s.httpAddr,
		s.urls[withKeys][len("http://"):], s.urls[withoutKeys][len("http://"):])
	require.NoError(t, os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	return s, folder
}

func playOn(t *testing.T, payments int) (Report, string, error) {
	t.Helper()
	var out bytes.Buffer
	r, err := Run(t.Context(), Options{Payments: payments, Seed: 7, Compose: "docker-compose.yml", Out: &out, Log: zap.NewNop()})
	return r, out.String(), err
}

func TestTheDemoPlaysOnAProjectThatRuns(t *testing.T) {
	s, folder := newProject(t)
	calm := pspsim.Faults{Keys: pspsim.KeysOff, Rates: pspsim.Rates{Decline: 0.5}}
	require.NoError(t, setFaults(t.Context(), s.urls[withoutKeys], calm))

	r, out, err := playOn(t, 100)
	require.NoError(t, err, out)
	require.Empty(t, r.Broken(), out)
	require.Equal(t, 100, r.Accepted)
	asked, err := os.ReadFile(filepath.Join(folder, "asked"))
	require.NoError(t, err)
	for _, command := range []string{"kill worker-1", "start worker-1", "kill relay-1", "start relay-1"} {
		require.Contains(t, string(asked), "compose --file docker-compose.yml "+command+"\n")
	}
	faults, err := askFaults(t.Context(), s.urls[withoutKeys])
	require.NoError(t, err)
	require.Equal(t, calm, faults, "the provider has the faults that it had before")

	_, _, err = playOn(t, 1)
	require.ErrorContains(t, err, "has taken payments already")
}

func TestAContainerThatEndedByItselfEndsTheDemo(t *testing.T) {
	_, folder := newProject(t)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "restarts"), []byte("0 /first\n2 /second\n"), 0o600))
	_, _, err := playOn(t, 1)
	require.ErrorContains(t, err, "the container /second ended by itself")
}

func TestAProjectThatDoesNotRunIsAnErrorThatSaysSo(t *testing.T) {
	folder := t.TempDir()
	script := "#!/bin/sh\necho 'service \"intake\" is not running' >&2\nexit 1\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "docker"), []byte(script), 0o700))
	t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	_, _, err := playOn(t, 1)
	require.ErrorContains(t, err, `service "intake" is not running; is the project running?`)
}
