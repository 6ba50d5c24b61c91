// Package main writes the documents that say what payonce takes and gives.
//
//	routes of httpapi, types of pkg/event ──> schema/openapi.yaml ...
//
// `go generate ./schema` runs it. A test fails when what it would write is not what
// is there.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/danielgtaylor/huma/v2/yaml"

	"github.com/payonce/payonce/internal/asyncapi"
	"github.com/payonce/payonce/internal/httpapi"
)

// document is one file of the repository that is made from the code.
type document struct {
	path string // from the repository's root, with slashes
	text []byte
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: documents REPOSITORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes all documents below the repository's root.
func write(repository string) error {
	made, err := documents()
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(repository)
	if err != nil {
		return err
	}
	for _, d := range made {
		if err := root.MkdirAll(path.Dir(d.path), 0o755); err != nil {
			return err
		}
		if err := root.WriteFile(d.path, d.text, 0o644); err != nil {
			return err
		}
	}
	return root.Close()
}

// documents makes them all.
func documents() ([]document, error) {
	api, err := httpapi.Document()
	if err != nil {
		return nil, err
	}
	openapi, err := inYAML(api, "openapi", "info", "servers", "security", "tags", "paths", "components")
	if err != nil {
		return nil, fmt.Errorf("rendering the API's document: %w", err)
	}
	messages, err := asyncapi.Document()
	if err != nil {
		return nil, err
	}
	channels, err := inYAML(messages, asyncapi.Sections...)
	if err != nil {
		return nil, fmt.Errorf("rendering the messages' document: %w", err)
	}
	schemas, err := asyncapi.Schemas()
	if err != nil {
		return nil, err
	}
	made := []document{{"schema/openapi.yaml", openapi}, {"schema/asyncapi.yaml", channels}, {"docs/PROBLEMS.md", problems()}}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		made = append(made, document{"schema/events/" + name + ".json", schemas[name]})
	}
	return made, nil
}

// inYAML renders the sections of a document in the order in which it is read.
func inYAML(document json.Marshaler, sections ...string) ([]byte, error) {
	whole, err := document.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var values map[string]json.RawMessage
	if err := json.Unmarshal(whole, &values); err != nil {
		return nil, err
	}
	text := bytes.NewBufferString(notice)
	for _, name := range sections {
		section, err := json.Marshal(map[string]json.RawMessage{name: values[name]})
		if err != nil {
			return nil, err
		}
		if err := yaml.Convert(text, bytes.NewReader(section)); err != nil {
			return nil, err
		}
		delete(values, name)
	}
	for name := range values {
		return nil, fmt.Errorf("the section %s has no place", name)
	}
	return text.Bytes(), nil
}

// notice begins every document that has comments.
const notice = "# Made from the code by `go generate ./schema`. Change the code, not this file.\n"
