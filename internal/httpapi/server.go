package httpapi

import (
	"net/http"
	"time"

	"go.uber.org/zap"
)

// The server's bounds. A client that is slower than this is not paying.
const (
	ReadHeaderTimeout = 5 * time.Second
	ReadTimeout       = 10 * time.Second // header and body
	// WriteTimeout counts from the end of the header: it holds the body's time,
	// RequestWaitMax, and a slow reader's.
	WriteTimeout = 30 * time.Second
	// IdleTimeout is above the minute that load balancers keep idle connections:
	// the side that closes first must not be ours, or requests get lost.
	IdleTimeout = 120 * time.Second
	// MaxHeaderBytes is many times what a client of this API sends.
	MaxHeaderBytes = 16 << 10
)

// NewServer returns a server for the handler with every bound set. The caller
// listens and shuts it down. What net/http itself refuses, such as a header that is
// too large or not HTTP at all, it answers in plain text.
func NewServer(handler http.Handler, log *zap.Logger) (*http.Server, error) {
	errorLog, err := zap.NewStdLogAt(log, zap.WarnLevel)
	if err != nil {
		return nil, err
	}
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: ReadHeaderTimeout,
		ReadTimeout:       ReadTimeout,
		WriteTimeout:      WriteTimeout,
		IdleTimeout:       IdleTimeout,
		MaxHeaderBytes:    MaxHeaderBytes,
		ErrorLog:          errorLog,
	}, nil
}
