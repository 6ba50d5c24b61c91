package asyncapi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/payonce/payonce/internal/asyncapi"
	"github.com/payonce/payonce/internal/eventschema"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/schema"
)

// types reads the types from the source, so that none is left out here.
func types(t *testing.T) []event.Type {
	t.Helper()
	var found []event.Type
	for _, name := range []string{"event.go", "door.go"} {
		source, err := os.ReadFile(filepath.Join("..", "..", "pkg", "event", name))
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`Type = "(payonce\.\w+\.v\d+)"`).FindAllSubmatch(source, -1) {
			found = append(found, event.Type(match[1]))
		}
	}
	require.ElementsMatch(t, event.Types(), found)
	return found
}

func TestE2_GoldenPayloadsAreWhatConsumersRead(t *testing.T) {
	t.Parallel()
	validator, err := eventschema.NewValidator()
	require.NoError(t, err)
	for _, kind := range types(t) {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			payload, err := asyncapi.Example(kind)
			require.NoError(t, err)
			require.NoError(t, validator.Validate(kind, payload))
			golden, err := os.ReadFile(filepath.Join("testdata", "golden", asyncapi.Name(kind)+".json"))
			require.NoError(t, err, "%s", payload)
			require.Equal(t, string(golden), string(payload)+"\n",
				"the payload has other bytes than consumers were promised: that is a change of the contract")
		})
	}
}

func TestE2_APayloadThatBreaksItsSchemaIsFound(t *testing.T) {
	t.Parallel()
	validator, err := eventschema.NewValidator()
	require.NoError(t, err)
	good, err := asyncapi.Example(event.PaymentCaptured)
	require.NoError(t, err)
	for name, change := range map[string]func(map[string]any){
		"a member is missing": func(m map[string]any) { delete(m, "amountMinor") },
		"an amount as number": func(m map[string]any) { m["amount"] = 10.0 },
		"another state":       func(m map[string]any) { m["state"] = "failed" },
		"no uuid":             func(m map[string]any) { m["paymentId"] = "42" },
		"no time":             func(m map[string]any) { m["occurredAt"] = "yesterday" },
	} {
		var members map[string]any
		require.NoError(t, json.Unmarshal(good, &members))
		change(members)
		payload, err := json.Marshal(members)
		require.NoError(t, err)
		require.Error(t, validator.Validate(event.PaymentCaptured, payload), name)
	}
	require.ErrorIs(t, validator.Validate("payonce.PaymentCaptured.v2", good), eventschema.ErrUnknownType)
}

func TestE2_TheMessagesDocumentIsValidAsyncAPI(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "schema", "asyncapi.yaml"))
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, yaml.Unmarshal(text, &document))
	compiled, err := jsonschema.NewCompiler().Compile(filepath.Join("testdata", "asyncapi-3.0.0.json"))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(document))

	references := regexp.MustCompile(`\$ref: \./(events/\S+)`).FindAllSubmatch(text, -1)
	require.Len(t, references, len(types(t)), "every type has its schema")
	for _, reference := range references {
		_, err := schema.Events.Open(string(reference[1]))
		require.NoError(t, err)
	}
	document["channels"].(map[string]any)["events"].(map[string]any)["address"] = 42
	require.Error(t, compiled.Validate(document), "the schema finds faults")
}
