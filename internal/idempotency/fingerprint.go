package idempotency

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fingerprintVersion is part of every fingerprint. Another way to compute it is
// another version; what was stored under an older one is compared by its fields.
const fingerprintVersion = 1

// Fingerprint is SHA-256 over a canonical request.
type Fingerprint [sha256.Size]byte

// Canonical is a validated request in the form in which two requests are the
// same or not: no order of members, white space or number format is left in it.
type Canonical struct {
	Method string
	Path   map[string]string // path parameters, empty when the route has none
	Fields Fields
}

// Fields are a request's fields by name, each as one text; nil where the request
// does not have the field. They are stored to name what differs in a later
// request, so a secret goes in as its hash.
type Fields map[string]*string

// Fingerprint hashes the request as JSON in the form of RFC 8785 (JCS), so that
// it can be recomputed in any language: {"fields":…,"method":…,"path":…,"version":1}.
func (c Canonical) Fingerprint() (Fingerprint, error) {
	path := c.Path
	if path == nil {
		path = map[string]string{}
	}
	var text jsontext.Value
	text, err := json.Marshal(struct {
		Version int               `json:"version"`
		Method  string            `json:"method"`
		Path    map[string]string `json:"path"`
		Fields  Fields            `json:"fields"`
	}{fingerprintVersion, c.Method, path, c.Fields})
	if err != nil {
		return Fingerprint{}, fmt.Errorf("rendering a canonical request: %w", err)
	}
	if err := text.Canonicalize(); err != nil {
		return Fingerprint{}, fmt.Errorf("canonicalizing a request: %w", err)
	}
	return sha256.Sum256(text), nil
}

// stored returns what is kept to name differences: the fields, and the path
// parameters in braces, as routes write them.
func (c Canonical) stored() Fields {
	all := make(Fields, len(c.Fields)+len(c.Path))
	maps.Copy(all, c.Fields)
	for name, value := range c.Path {
		all["{"+name+"}"] = &value
	}
	return all
}

// Differences returns the names of the fields in which a later request differs
// from the stored one, sorted. A field that one side does not know is absent
// there, as null is.
func Differences(stored, later Fields) []string {
	var names []string
	for name, value := range stored {
		if !equal(value, later[name]) {
			names = append(names, name)
		}
	}
	for name, value := range later {
		if _, known := stored[name]; !known && value != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func equal(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
