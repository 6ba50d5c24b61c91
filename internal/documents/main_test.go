package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/payonce/payonce/schema"
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

func TestI11_TheDocumentIsValidOpenAPI(t *testing.T) {
	t.Parallel()
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(schema.OpenAPI, &document))
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "openapi-3.1.json"))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))
	delete(document, "info")
	require.Error(t, compiled.Validate(document), "the schema finds faults")
}
