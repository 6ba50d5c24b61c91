package httpapi

import (
	"encoding/json"
	"net/http"

	"go.uber.org/zap"

	"github.com/payonce/payonce/internal/problem"
)

// fail sends the problem document and logs what is our own trouble.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	f := problem.Explain(err)
	switch {
	case r.Context().Err() != nil: // the client left and hears nothing
	case f.Status == http.StatusInternalServerError:
		a.Log.Error("request failed", zap.String("route", r.Pattern), zap.Error(f.Cause))
	case f.Status == http.StatusServiceUnavailable:
		a.Log.Warn("request not served", zap.String("route", r.Pattern), zap.Error(f.Cause))
	}
	header := w.Header()
	switch {
	case f.Of(problem.Unauthorized):
		header.Set("WWW-Authenticate", `Bearer realm="payonce"`)
	case f.Retryable && (f.Status == http.StatusServiceUnavailable || f.Status == http.StatusConflict):
		header.Set("Retry-After", retryAfter)
	}
	body, err := json.Marshal(f.Document)
	if err != nil {
		panic(err) // texts, numbers and a payment always render
	}
	send(w, f.Status, problemMedia, body)
}

// send writes an answer. States of payments change, so nothing keeps a copy.
func send(w http.ResponseWriter, status int, contentType string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", contentType)
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that went away asks again
}
