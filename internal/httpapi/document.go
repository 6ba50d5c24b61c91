package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/payonce/payonce/schema"
)

func aboutGetDocument() about {
	return about{
		id: "getDocument", tag: tagService, summary: "This document",
		noAPIKey: true,
		answers: []success{{
			status: http.StatusOK, when: "OpenAPI 3.1, in YAML.", media: "application/yaml", body: anything{},
			headers: []string{"ETag"},
		}},
	}
}

// documentTag names the document's text.
var documentTag = func() string {
	sum := sha256.Sum256(schema.OpenAPI)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}()

// getDocument sends the API's document. It changes with the program only, so a copy
// that was asked about again costs an answer without a body.
func (a *api) getDocument(w http.ResponseWriter, r *http.Request) error {
	header := w.Header()
	header.Set("ETag", documentTag)
	header.Set("Cache-Control", "public, max-age=300")
	if r.Header.Get("If-None-Match") == documentTag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	header.Set("Content-Type", "application/yaml")
	_, _ = w.Write(schema.OpenAPI)
	return nil
}
