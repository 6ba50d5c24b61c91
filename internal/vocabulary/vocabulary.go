// Package vocabulary says once, for all documents, what a member of a given name
// means and which values it may have.
//
//	Go types + this table ──> JSON Schema 2020-12 ──> OpenAPI, AsyncAPI, schema/events
//
// Which members there are comes from the Go types that are encoded and decoded, and
// limits come from the constants that validate. A member that is not in the table
// is an error, so no document is made that does not explain it.
package vocabulary

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/payonce/payonce/pkg/money"
	"github.com/payonce/payonce/pkg/payment"
)

// Schemas collects the schemas of one document. Make it with New.
type Schemas struct {
	registry huma.Registry
	prefix   string
	bodies   map[string]bool // names of the schemas that we decode
}

// New begins a document whose schemas are referred to behind the prefix, such as
// "#/components/schemas/".
func New(prefix string) *Schemas {
	return &Schemas{registry: huma.NewMapRegistry(prefix, nameOf), prefix: prefix, bodies: map[string]bool{}}
}

// Sent refers to the schema of what we encode. It may gain members in a later
// version, so it says nothing about members that it does not name.
func (s *Schemas) Sent(value any) *huma.Schema {
	return s.registry.Schema(reflect.TypeOf(value), true, "")
}

// Taken refers to the schema of what we decode: a member that it does not name is
// refused, and null is the same as absent.
func (s *Schemas) Taken(value any) *huma.Schema {
	reference := s.registry.Schema(reflect.TypeOf(value), true, "")
	s.bodies[strings.TrimPrefix(reference.Ref, s.prefix)] = true
	return reference
}

// Registry explains and bounds every member of every schema that was referred to,
// and returns them all. It names the members that the table does not have.
func (s *Schemas) Registry() (huma.Registry, error) {
	var unknown []string
	for _, name := range slices.Sorted(maps.Keys(s.registry.Map())) {
		schema := s.registry.Map()[name]
		goType := s.registry.TypeFromRef(s.prefix + name)
		for field := range goType.Fields() {
			member, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			property, ok := schema.Properties[member]
			if !ok {
				continue
			}
			s.ofType(property, field.Type)
			if !ofName(property, name, member) {
				unknown = append(unknown, name+"."+member)
			}
		}
		s.finish(name, schema)
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("not in the vocabulary: %s", strings.Join(unknown, ", "))
	}
	return s.registry, nil
}

// finish says which members must be there and whether others may be.
func (s *Schemas) finish(name string, schema *huma.Schema) {
	schema.Description = texts[name]
	if !s.bodies[name] {
		schema.AdditionalProperties = nil
		return
	}
	schema.Required = nil
	for _, member := range slices.Sorted(maps.Keys(schema.Properties)) {
		if property := schema.Properties[member]; !property.Nullable && !lookUp(name, member).optional {
			schema.Required = append(schema.Required, member)
		}
	}
}

// nameOf is the name of a type's schema.
func nameOf(t reflect.Type, hint string) string {
	if name, ok := names[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// ofType bounds what the Go type bounds already.
func (s *Schemas) ofType(property *huma.Schema, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[uuid.UUID]():
		property.Format = "uuid"
	case reflect.TypeFor[payment.State]():
		property.Enum = states()
	case reflect.TypeFor[money.Currency]():
		property.Pattern = currencyPattern
	case reflect.TypeFor[payment.OperationState]():
		property.Enum = operationStates()
	case reflect.TypeFor[jsontext.Value]():
		*property = huma.Schema{}
	case reflect.TypeFor[json.RawMessage]():
		*property = huma.Schema{Ref: s.prefix + names[reflect.TypeFor[payment.View]()]} // the only one that is sent
	}
}

// ofName explains and bounds a member, and reports whether the table has it.
func ofName(property *huma.Schema, schema, name string) bool {
	m := lookUp(schema, name)
	property.Description = m.text
	if m.bound != nil {
		m.bound(property)
	}
	if m.example != nil {
		property.Examples = []any{m.example}
	}
	return m.text != ""
}

// lookUp finds a member in the table, which knows it by its own name, or with its
// schema's name where one name has two meanings.
func lookUp(schema, name string) member {
	if m, ok := members[schema+"."+name]; ok {
		return m
	}
	return members[name]
}
