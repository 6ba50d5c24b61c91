// Package eventschema checks payloads against the published JSON Schemas.
//
//	schema/events/*.json ──> Validator ──> nil, or what is wrong with a payload
//
// It reads the schemas that consumers read, not the Go types that they were made
// from. Formats (uuid, date-time) are checked too.
package eventschema

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/payonce/payonce/pkg/event"
	"github.com/payonce/payonce/schema"
)

// ErrUnknownType is returned for a type that has no schema.
var ErrUnknownType = errors.New("the type has no schema")

// Validator knows the schema of every type. It is safe for concurrent use.
type Validator struct {
	schemas map[event.Type]*jsonschema.Schema
}

// NewValidator reads the schemas. An error means that one of them is no valid schema.
func NewValidator() (*Validator, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	names, err := fs.Glob(schema.Events, "events/*.json")
	if err != nil {
		return nil, err
	}
	v := &Validator{schemas: make(map[event.Type]*jsonschema.Schema, len(names))}
	for _, name := range names {
		text, err := schema.Events.ReadFile(name)
		if err != nil {
			return nil, err
		}
		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if err := compiler.AddResource(name, document); err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		compiled, err := compiler.Compile(name)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		kind := strings.TrimSuffix(strings.TrimPrefix(name, "events/"), ".json")
		v.schemas[event.Type("payonce."+kind)] = compiled
	}
	return v, nil
}

// Validate returns ErrUnknownType, or what is wrong with a payload of the type.
func (v *Validator) Validate(kind event.Type, payload []byte) error {
	known, ok := v.schemas[kind]
	if !ok {
		return fmt.Errorf("%s: %w", kind, ErrUnknownType)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s is not JSON: %w", kind, err)
	}
	if err := known.Validate(value); err != nil {
		return fmt.Errorf("%s breaks its schema: %w", kind, err)
	}
	return nil
}
