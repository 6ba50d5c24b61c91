package httpapi

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/payonce/payonce/schema"
)

// described is the document that the API serves, and the schemas in it.
type described struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	document map[string]any
	mux      *http.ServeMux
}

var theDocument = sync.OnceValues(func() (*described, error) {
	d := &described{compiler: jsonschema.NewCompiler(), mux: http.NewServeMux()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := yaml.Unmarshal(schema.OpenAPI, &d.document); err != nil {
		return nil, err
	}
	for _, r := range routes() {
		d.mux.Handle(r.method+" "+r.path, http.NotFoundHandler())
	}
	return d, d.compiler.AddResource("openapi.yaml", d.document)
})

// schemaOf finds what the document says of an answer. It reports whether it says
// anything of the status at all.
func (d *described) schemaOf(r *http.Request, status int, media string) (*jsonschema.Schema, bool, error) {
	_, pattern := d.mux.Handler(r)
	method, path, ours := strings.Cut(pattern, " ")
	if !ours || (r.Method != method && r.Method != http.MethodHead) {
		return nil, true, nil // of what is not the API's it says nothing
	}
	place := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(status)}
	var at any = d.document
	pointer := ""
	for _, name := range append(place, "content", media, "schema") {
		members, isObject := at.(map[string]any)
		next, found := members[name]
		if !isObject || !found {
			return nil, false, nil
		}
		at = next
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(name)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	compiled, err := d.compiler.Compile("openapi.yaml#" + pointer)
	return compiled, true, err
}

// conforms fails the test when an answer is not one that the document tells of. Like
// door.send it is called from many goroutines, so it does not end the test.
func conforms(t *testing.T, r *http.Request, a answer) {
	t.Helper()
	if err := conformance(r, a); err != nil {
		t.Error(err)
	}
}

// conformance says what is not as the document says.
func conformance(r *http.Request, a answer) error {
	d, err := theDocument()
	if err != nil || len(a.body) == 0 {
		return err
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	known, told, err := d.schemaOf(r, a.status, media)
	switch {
	case err != nil:
		return err
	case !told:
		return fmt.Errorf("%s %s answered %d, %s, and the document does not tell of it", r.Method, r.URL.Path, a.status, media)
	case known == nil || !strings.HasSuffix(media, "json"):
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(a.body))
	if err != nil {
		return err
	}
	return known.Validate(value)
}

func TestI11_AnAnswerThatTheDocumentDoesNotTellOfIsFound(t *testing.T) {
	t.Parallel()
	d, err := theDocument()
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api/v1/payments", nil)
	require.NoError(t, err)
	_, told, err := d.schemaOf(r, http.StatusTeapot, problemMedia)
	require.NoError(t, err)
	require.False(t, told)
	known, told, err := d.schemaOf(r, http.StatusAccepted, "application/json")
	require.NoError(t, err)
	require.True(t, told)
	require.Error(t, known.Validate(map[string]any{"id": "42"}))
}
