package httpapi

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/schema"
)

func TestI11_TheDocumentIsThereForEveryone(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+"/openapi.yaml", nil)
	require.NoError(t, err)
	a := d.send(t, r)
	require.Equal(t, http.StatusOK, a.status)
	require.Equal(t, "application/yaml", a.header.Get("Content-Type"))
	require.Equal(t, schema.OpenAPI, a.body)

	r.Header.Set("If-None-Match", a.header.Get("ETag"))
	again := d.send(t, r)
	require.Equal(t, http.StatusNotModified, again.status)
	require.Empty(t, again.body)
}
