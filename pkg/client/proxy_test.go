package client_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// fault is what stands between client and payonce does with one request.
type fault string

const (
	cutBefore   fault = "cut before it arrives"
	cutAfter    fault = "cut after it is done"
	cutWithin   fault = "cut in the middle of the answer"
	unavailable fault = "payonce says 503 before it is done"
	limited     fault = "payonce says 429 before it is done"
	busy        fault = "payonce says 409, another one is at work"
	badGateway  fault = "a gateway says 502 after it is done"
	blankPage   fault = "200 with an empty page after it is done"
	halfJSON    fault = "202 with half of the answer, as if it were whole"
	mixedUp     fault = "202 with the answer to another request"
	endless     fault = "202 without an end"
	redirected  fault = "307 to somebody else after it is done"
	forbidden   fault = "a firewall says 403 after it is done"
	revoked     fault = "payonce says 401"
	silent      fault = "no answer until the client gives up"
)

// passing are the faults after which a client has to go on by itself.
var passing = []fault{
	cutBefore, cutAfter, cutWithin, unavailable, limited, busy, badGateway, blankPage, halfJSON, mixedUp, endless, silent,
}

// proxy stands before an intake, with a fault for each of the next requests.
type proxy struct {
	url    string
	target string
	client *http.Client

	elsewhere string // where redirected leads
	atSilence func() // called when an answer is kept back

	mu       sync.Mutex
	faults   []fault
	requests []*http.Request // as they came
	onGet    func()
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := &proxy{target: target, client: &http.Client{Transport: &http.Transport{}}}
	server := httptest.NewServer(p)
	p.url = server.URL
	t.Cleanup(func() {
		server.Close()
		p.client.CloseIdleConnections()
	})
	return p
}

// meet lets the next requests meet the faults, one each.
func (p *proxy) meet(faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, faults...)
}

func (p *proxy) seen() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.requests
}

func (p *proxy) next(r *http.Request) (fault, func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	onGet := p.onGet
	if r.Method != http.MethodGet {
		onGet = nil
	}
	if len(p.faults) == 0 {
		return "", onGet
	}
	met := p.faults[0]
	p.faults = p.faults[1:]
	return met, onGet
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	met, first := p.next(r)
	if first != nil {
		first()
	}
	switch met {
	case cutBefore:
		panic(http.ErrAbortHandler)
	case unavailable:
		refuse(w, http.StatusServiceUnavailable, "unavailable", true)
	case limited:
		refuse(w, http.StatusTooManyRequests, "rate-limited", true)
	case busy:
		refuse(w, http.StatusConflict, "request-in-progress", true)
	case revoked:
		refuse(w, http.StatusUnauthorized, "unauthorized", false)
	default:
		p.forward(w, r, met, body)
	}
}

func refuse(w http.ResponseWriter, status int, name string, retryable bool) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"type":"urn:payonce:problem:%s","title":"T","status":%d,"detail":"D","retryable":%t}`, name, status, retryable)
}

// forward has the request done, and then loses or spoils the answer.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request, met fault, body []byte) {
	forwarded := r.Clone(r.Context())
	forwarded.RequestURI, forwarded.URL.Scheme, forwarded.URL.Host = "", "http", p.target
	forwarded.Body = io.NopCloser(strings.NewReader(string(body)))
	response, err := p.client.Do(forwarded)
	if err != nil {
		panic(http.ErrAbortHandler) // the client gave up
	}
	defer response.Body.Close()
	answer, _ := io.ReadAll(response.Body)
	switch met {
	case cutAfter:
		panic(http.ErrAbortHandler)
	case silent:
		if p.atSilence != nil {
			p.atSilence()
		}
		<-r.Context().Done()
	case badGateway:
		w.WriteHeader(http.StatusBadGateway)
	case blankPage:
	case redirected:
		http.Redirect(w, r, p.elsewhere, http.StatusTemporaryRedirect)
	case forbidden:
		http.Error(w, "blocked", http.StatusForbidden)
	default:
		maps.Copy(w.Header(), response.Header)
		spoil(w, met, response.StatusCode, answer)
	}
}

// spoil sends the answer, changed as the fault has it.
func spoil(w http.ResponseWriter, met fault, status int, answer []byte) {
	switch met {
	case cutWithin:
		w.WriteHeader(status)
		_, _ = w.Write(answer[:len(answer)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case halfJSON:
		w.Header().Del("Content-Length")
		answer = answer[:len(answer)/2]
	case mixedUp:
		w.Header().Del("Content-Length")
		answer = []byte(strings.Replace(string(answer), `"invoiceId":"`, `"invoiceId":"of somebody else `, 1))
	case endless:
		w.Header().Del("Content-Length")
		answer = append(answer, strings.Repeat(" ", 2<<20)...)
	default: // as it came
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}
