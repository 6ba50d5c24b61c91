package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// answer is what came back, read to its end.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send makes one request of a call.
func (c *Client) send(ctx context.Context, call call) try {
	ctx, cancel := context.WithTimeout(ctx, c.timeout+c.wait)
	defer cancel()
	request, err := c.request(ctx, call)
	if err != nil {
		return try{err: err, told: true} // it was never sent
	}
	answered, err := c.exchange(request)
	if err != nil {
		// Whether the caller's own time is over is asked before the next request.
		return try{err: err, again: true}
	}
	return answered.judge(call)
}

func (c *Client) request(ctx context.Context, call call) (*http.Request, error) {
	url := *c.base
	url.Path = strings.TrimSuffix(url.Path, "/") + call.path
	url.RawQuery = call.query
	request, err := http.NewRequestWithContext(ctx, call.method, url.String(), bytes.NewReader(call.body))
	if err != nil {
		return nil, fmt.Errorf("making a request: %w", err)
	}
	// net/http sends a request with an Idempotency-Key again by itself when a reused
	// connection breaks, unless it cannot get the body back. We must know of each one:
	// the first is carried out, its answer is lost, the second meets a revoked API key,
	// and the 401 would look like the only answer there was.
	request.GetBody = nil
	c.sign(request)
	request.Header.Set("Accept", "application/json, application/problem+json")
	if call.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if call.intent != nil {
		request.Header.Set("Idempotency-Key", call.intent.String())
	}
	if c.wait > 0 { // RFC 7240, 4.3
		request.Header.Set("Prefer", "wait="+strconv.Itoa(int(c.wait/time.Second)))
	}
	return request, nil
}

func (c *Client) exchange(request *http.Request) (answer, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, err // names method and URL, and no header
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, AnswerBytesMax+1))
	switch {
	case err != nil:
		return answer{}, fmt.Errorf("reading the answer to %s %s: %w", request.Method, request.URL, err)
	case len(body) > AnswerBytesMax:
		return answer{}, fmt.Errorf("reading the answer to %s %s: it has more than %d bytes", request.Method, request.URL, AnswerBytesMax)
	}
	return answer{response.StatusCode, response.Header, body}, nil
}

// judge says what follows from an answer. Only what is certainly payonce's counts:
// what stands between could answer anything after it passed the request on.
func (a answer) judge(call call) try {
	after := retryAfter(a.header.Get("Retry-After"), time.Now())
	if a.status >= 200 && a.status < 300 {
		if err := call.read(a); err != nil {
			return try{err: fmt.Errorf("%w: %w", a.foreign(), err), again: true}
		}
		return try{}
	}
	if problem, ok := a.problem(); ok {
		problem.RetryAfter = after
		return try{err: problem, again: problem.Retryable, after: after, told: problem.nothingDone()}
	}
	again := a.status == http.StatusRequestTimeout || a.status == http.StatusTooManyRequests || a.status >= http.StatusInternalServerError
	return try{err: a.foreign(), again: again, after: after}
}

// nothingDone reports whether the problem says that no payment came of its request,
// nor can one be under way under the same key. 409 says that another request is at
// work, 5xx that the outcome of a commit may be lost, and a reused key that an earlier
// request was taken on.
func (p *ProblemError) nothingDone() bool {
	return p.Status < http.StatusInternalServerError && (p.Status != http.StatusConflict || !p.Retryable) && !p.reused()
}

func (a answer) replayed() bool { return a.header.Get("Idempotent-Replayed") == "true" }

// foreign is the error of an answer that is not payonce's. It quotes nothing of it.
func (a answer) foreign() error {
	return fmt.Errorf("an answer that payonce does not give: status %d, %d bytes of %q", a.status, len(a.body), a.header.Get("Content-Type"))
}

// problem returns the problem document, when the answer is one of payonce's.
func (a answer) problem() (*ProblemError, bool) {
	var p ProblemError
	err := a.decode("application/problem+json", &p)
	return &p, err == nil && p.Status == a.status && strings.HasPrefix(p.Type, problemPrefix)
}

// decode reads a body of the media type. Members that are new are let be; a body
// that two parsers could read differently is refused.
func (a answer) decode(mediaType string, to any) error {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || media != mediaType {
		return errors.New("it has another content type")
	}
	if err := json.Unmarshal(a.body, to); err != nil {
		return errors.New("its body is not what it should be") // err could quote it
	}
	return nil
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3); anything else asks for
// nothing.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
