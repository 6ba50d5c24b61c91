package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"go.uber.org/zap"
)

// observed logs what was asked and answered, at debug level, and turns a panic
// into an answer. It logs no body, no header and no path, which may hold anything;
// the route says what was asked for.
func (a *api) observed(next *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answerWriter{ResponseWriter: w}
		began := time.Now()
		defer func() {
			if panicked := recover(); panicked != nil {
				a.answerPanic(answer, r, panicked)
			}
			a.Log.Debug("request served", zap.String("method", methodName(r.Method)), zap.String("route", r.Pattern),
				zap.Int("status", answer.status), zap.Duration("took", time.Since(began)))
		}()
		next.ServeHTTP(answer, r)
	})
}

// answerPanic logs where it happened. What a panic says is logged only when the
// runtime said it: other values may hold parts of the request.
func (a *api) answerPanic(w *answerWriter, r *http.Request, panicked any) {
	err, isError := panicked.(error)
	if isError && errors.Is(err, http.ErrAbortHandler) {
		panic(panicked)
	}
	said := fmt.Sprintf("a %T", panicked)
	var fault runtime.Error
	if isError && errors.As(err, &fault) {
		said = fault.Error()
	}
	a.Log.Error("request panicked", zap.String("route", r.Pattern), zap.String("panic", said), zap.StackSkip("stack", 2))
	if w.status == 0 {
		a.fail(w, r, fmt.Errorf("panic: %s", said))
		return
	}
	panic(http.ErrAbortHandler) // half an answer must not look like a whole one
}

// methodName keeps what is not a method out of the log.
func methodName(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return method
	default:
		return "other"
	}
}

// answerWriter remembers the status that was sent, 0 before.
type answerWriter struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *answerWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController find the connection.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
