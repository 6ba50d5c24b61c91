package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestI11_E2_TheDocumentsAreWhatTheCodeSays(t *testing.T) {
	t.Parallel()
	made, err := documents()
	require.NoError(t, err)
	for _, d := range made {
		there, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(d.path)))
		require.NoError(t, err)
		require.Equal(t, string(d.text), string(there), "%s is not up to date: run go generate ./schema", d.path)
	}
}
