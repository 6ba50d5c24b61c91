package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"

	"github.com/payonce/payonce/internal/problem"
)

// readBody reads the whole body of a request that says it is JSON.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	media, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := parameters["charset"]
	if err != nil || media != "application/json" || (charset != "" && !strings.EqualFold(charset, "utf-8")) {
		return nil, problem.UnsupportedMedia.Failure("Send Content-Type: application/json, in UTF-8.")
	}
	if r.Header.Get("Content-Encoding") != "" {
		return nil, problem.UnsupportedMedia.Failure("Send the body without a content encoding.")
	}
	body, err := readBytes(w, r, BodyBytesMax)
	if err == nil && len(body) == 0 {
		return nil, problem.MalformedBody.Failure("The body is empty.")
	}
	return body, err
}

func tooLarge(limit int) error {
	f := problem.BodyTooLarge.Failure(fmt.Sprintf("The body has more than %d bytes.", limit))
	f.Limit = limit
	return f
}

// readBytes reads a whole body of at most limit bytes, as it came.
func readBytes(w http.ResponseWriter, r *http.Request, limit int) ([]byte, error) {
	if r.ContentLength > int64(limit) { // a client that announces more is not asked for it
		return nil, tooLarge(limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, int64(limit)))
	var beyond *http.MaxBytesError
	switch {
	case errors.As(err, &beyond):
		return nil, tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, problem.BodyTooSlow.Failure("The body did not arrive in time.")
	case err != nil:
		return nil, problem.MalformedBody.Failure("The body ended before its end.")
	}
	return body, nil
}
