package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

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

// The bounds of the document, which is long and there for everyone, so that it takes
// nothing away from payments: clients that read slowly only hold each other up.
const (
	DocumentsMax    = 16 // copies that are being sent
	documentTimeout = 5 * time.Second
)

// document serves the API's document from where it stands in memory.
func (a *api) document() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := within(a.documents, w, r, sendDocument); err != nil {
			a.fail(w, r, err)
		}
	})
}

// sendDocument sends the document. It changes with the program only, so a copy that was
// asked about again costs an answer without a body.
func sendDocument(w http.ResponseWriter, r *http.Request) error {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(documentTimeout)); err != nil {
		return err
	}
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
