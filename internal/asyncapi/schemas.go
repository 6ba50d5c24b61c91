package asyncapi

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/payonce/payonce/internal/vocabulary"
	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/pkg/payment"
)

// Name is a type's name in files and documents: PaymentCaptured.v1.
func Name(kind event.Type) string { return strings.TrimPrefix(string(kind), "payonce.") }

// dialect is JSON Schema 2020-12.
const dialect = "https://json-schema.org/draft/2020-12/schema"

// definitions is where a schema keeps the schemas that it refers to.
const definitions = "#/$defs/"

// Schemas returns the JSON Schema of each type's payload, by Name, as indented JSON.
func Schemas() (map[string][]byte, error) {
	texts := make(map[string][]byte, len(messages))
	for _, m := range messages {
		schema, err := m.schema()
		if err != nil {
			return nil, err
		}
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return nil, err
		}
		texts[Name(m.kind)] = append(text, '\n')
	}
	return texts, nil
}

// schema describes a payload in a document of its own.
func (m message) schema() (*huma.Schema, error) {
	schemas := vocabulary.New(definitions)
	refer := schemas.Sent
	if m.taken {
		refer = schemas.Taken
	}
	name := strings.TrimPrefix(refer(m.data).Ref, definitions)
	if reflect.TypeOf(m.data) == reflect.TypeFor[event.Accepted]() {
		schemas.Sent(payment.View{}) // it comes as JSON, so its type is not in the message's
	}
	registry, err := schemas.Registry()
	if err != nil {
		return nil, err
	}
	others := maps.Clone(registry.Map())
	root := others[name]
	delete(others, name)
	root.Title = Name(m.kind)
	root.Description = strings.TrimSpace(m.summary + " " + root.Description)
	root.Extensions = map[string]any{"$schema": dialect}
	if len(others) > 0 {
		root.Extensions["$defs"] = others
	}
	if m.state != "" {
		root.Properties["state"].Enum = []any{m.state}
		root.Properties["state"].Examples = nil
	}
	return root, nil
}
