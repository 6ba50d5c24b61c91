package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/uuid"
)

const (
	// requestPatience is above all bounds of payonce.
	requestPatience = 30 * time.Second
	// latencyMax and latencyDigits shape the histograms, in microseconds.
	latencyMax    = int64(2 * requestPatience / time.Microsecond)
	latencyDigits = 3
)

// answer is what came back to one shot.
type answer struct {
	shot     shot
	due      time.Time
	class    string // "accepted", or why not
	id       uuid.UUID
	replayed bool
	latency  time.Duration
}

// record is all that a run brought.
type record struct {
	plan     *plan
	began    time.Time
	took     time.Duration
	lateMost time.Duration // by which the generator itself was late

	mu      sync.Mutex
	latency *hdrhistogram.Histogram
	answers []answer
}

func newRecord(p *plan) *record {
	return &record{plan: p, latency: hdrhistogram.New(1, latencyMax, latencyDigits)}
}

// note keeps an answer. What ended with its run was canceled by us, and is in no
// figure. A refusal has no latency here: it comes soon, and would make the others look
// better than they are.
func (r *record) note(ctx context.Context, a answer) {
	if ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, a)
	if a.class == accepted {
		_ = r.latency.RecordValue(min(a.latency.Microseconds(), latencyMax)) // in range
	}
}

// taken counts the answers that hold a payment.
func (r *record) taken() int { return int(r.latency.TotalCount()) }

// quantile returns a latency of the accepted ones in milliseconds.
func (r *record) quantile(percent float64) float64 {
	return float64(r.latency.ValueAtQuantile(percent)) / 1000
}

func newHTTPClient(conns int) *http.Client {
	return &http.Client{
		Timeout:   requestPatience,
		Transport: &http.Transport{MaxIdleConnsPerHost: conns, MaxIdleConns: conns, DisableCompression: true},
	}
}

// openLoop sends each request when it is due, whether earlier ones were answered or
// not. Latency counts from then.
func openLoop(ctx context.Context, c *cell, p *plan) *record {
	r, client := newRecord(p), newHTTPClient(len(p.shots))
	defer client.CloseIdleConnections()
	var flying sync.WaitGroup
	timer := time.NewTimer(0)
	defer timer.Stop()
	r.began = time.Now()
	for _, s := range p.shots {
		timer.Reset(time.Until(r.began.Add(s.at)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			flying.Wait()
			return r
		}
		r.lateMost = max(r.lateMost, time.Since(r.began.Add(s.at)))
		flying.Go(func() { r.note(ctx, c.fire(ctx, client, p, s, r.began.Add(s.at))) })
	}
	flying.Wait()
	r.took = time.Since(r.began)
	return r
}

// closedLoop has callers that each send one request after the other, in the order of
// the plan and without its times.
func closedLoop(ctx context.Context, c *cell, p *plan, callers int) *record {
	r, client := newRecord(p), newHTTPClient(callers)
	defer client.CloseIdleConnections()
	var calling sync.WaitGroup
	var next atomic.Int64
	r.began = time.Now()
	for range callers {
		calling.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(p.shots) {
					return
				}
				r.note(ctx, c.fire(ctx, client, p, p.shots[i], time.Now()))
			}
		})
	}
	calling.Wait()
	r.took = time.Since(r.began)
	return r
}

// fire sends one request once. What it was due at is where its latency begins.
func (c *cell) fire(ctx context.Context, client *http.Client, p *plan, s shot, due time.Time) answer {
	a := answer{shot: s, due: due}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/v1/payments", strings.NewReader(p.body(s.order)))
	if err != nil {
		a.class = err.Error()
		return a
	}
	request.Header = http.Header{
		"Authorization": {"Bearer " + c.shops[s.order%len(c.shops)].apiKey}, "Content-Type": {"application/json"},
		"Idempotency-Key": {p.keys[s.order]},
	}
	response, err := client.Do(request)
	if err != nil {
		a.class, a.latency = "no answer", time.Since(due)
		return a
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	a.latency = time.Since(due)
	a.replayed = response.Header.Get("Idempotent-Replayed") == "true"
	a.class, a.id = classify(response.StatusCode, body, err)
	return a
}

// classify names an answer by its problem's type.
func classify(status int, body []byte, failed error) (class string, id uuid.UUID) {
	var told struct {
		ID   uuid.UUID `json:"id"`
		Type string    `json:"type"`
	}
	switch {
	case failed != nil:
		return "answer cut", uuid.Nil
	case json.Unmarshal(body, &told) != nil:
		return fmt.Sprintf("status %d without JSON", status), uuid.Nil
	case status == http.StatusAccepted || status == http.StatusCreated:
		return accepted, told.ID
	default:
		return fmt.Sprintf("%d %s", status, told.Type), uuid.Nil
	}
}

// accepted is the class of answers that hold a payment.
const accepted = "accepted"
