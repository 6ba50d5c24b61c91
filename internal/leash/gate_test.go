package leash

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAProgramWhoseParentEndsBeforeItsPidIsKnownNeverRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	command := exec.Command("touch", file)
	gate, err := putBehindGate(command)
	require.NoError(t, err)
	require.NoError(t, command.Start())
	require.NoError(t, gate.Close(), "as the end of the parent does")
	require.ErrorContains(t, command.Wait(), "exit status 1")
	require.NoFileExists(t, file)
}
