package pspsim

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Webhooks is the body of PUT /webhooks. It replaces what was set before, for
// movements from then on; the zero value sends none.
type Webhooks struct {
	URL string `json:"url,omitempty"`
	// Secret signs them: whsec_ and 24 to 64 bytes in base64.
	Secret string `json:"secret,omitempty"`
	// Copies are sent of each event besides the first, at the same time.
	Copies int `json:"copies,omitempty"`
	// Delay is how late each one comes. Spread is drawn on top of it, from seed and
	// event, so that events overtake each other.
	Delay  Duration `json:"delay,omitempty"`
	Spread Duration `json:"spread,omitempty"`
	// BeforeAnswer keeps a request's answer until the events of its reference have
	// been taken.
	BeforeAnswer bool `json:"before_answer,omitempty"`
}

const (
	copiesMax = 100
	// webhooksInFlight bounds the requests to the receiver.
	webhooksInFlight = 32
	// webhookTimeout and the pauses between tries are a real provider's, for the hurry
	// of a test: nothing but a 2xx ends them.
	webhookTimeout  = 10 * time.Second
	webhookPauseMin = 50 * time.Millisecond
	webhookPauseMax = 5 * time.Second
)

// Validate returns what is wrong, or nil.
func (w Webhooks) Validate() error {
	if w.URL == "" {
		return nil
	}
	target, err := url.Parse(w.URL)
	switch {
	case err != nil || target.Host == "" || (target.Scheme != "http" && target.Scheme != "https"):
		return errors.New("the webhooks' url is not of the form http://HOST:PORT/PATH")
	case len(secretKey(w.Secret)) < 24 || len(secretKey(w.Secret)) > 64:
		return errors.New("the webhooks' secret is not whsec_ and 24 to 64 bytes in base64")
	case w.Copies < 0 || w.Copies > copiesMax:
		return fmt.Errorf("copies: %d is not between 0 and %d", w.Copies, copiesMax)
	case time.Duration(w.Delay) > delayMax || time.Duration(w.Spread) > delayMax:
		return fmt.Errorf("delay and spread are at most %s", delayMax)
	}
	return nil
}

func (w Webhooks) withoutSecret() Webhooks {
	w.Secret = ""
	return w
}

func secretKey(secret string) []byte {
	text, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil {
		return nil
	}
	return key
}

// Sign returns the headers of one webhook as in Standard Webhooks, version 1.
func Sign(secret, id string, at time.Time, body []byte) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, secretKey(secret))
	_, _ = mac.Write([]byte(id + "." + timestamp + "."))
	_, _ = mac.Write(body)
	return http.Header{
		"Webhook-Id": {id}, "Webhook-Timestamp": {timestamp}, "Content-Type": {"application/json"},
		"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
}

// Event is the body of a webhook: the movement as it stood at that moment. Its id is
// in the header.
type Event struct {
	Type      string    `json:"type"` // kind and status, such as charge.captured
	Timestamp time.Time `json:"timestamp"`
	Data      Movement  `json:"data"`
}

// messenger tells of movements. Events that were not taken when the provider stops
// are forgotten with it.
type messenger struct {
	seed    uint64
	journal *journal
	client  *http.Client
	slots   chan struct{}

	ctx     context.Context
	stop    context.CancelFunc
	sending sync.WaitGroup

	mu       sync.Mutex
	settings Webhooks
	untaken  map[string][]chan struct{} // by reference: closed when the event was taken
}

func newMessenger(seed uint64, j *journal) *messenger {
	ctx, stop := context.WithCancel(context.Background())
	return &messenger{
		seed: seed, journal: j, ctx: ctx, stop: stop, untaken: map[string][]chan struct{}{}, slots: make(chan struct{}, webhooksInFlight),
		client: &http.Client{Timeout: webhookTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: webhooksInFlight}},
	}
}

func (m *messenger) set(w Webhooks) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings = w
}

func (m *messenger) get() Webhooks {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settings
}

// close ends all deliveries and waits for them.
func (m *messenger) close() {
	m.mu.Lock()
	m.settings = Webhooks{}
	m.mu.Unlock()
	m.stop()
	m.sending.Wait()
	m.client.CloseIdleConnections()
}

// tell sends the event on its way. The book calls it under its lock.
func (m *messenger) tell(movement Movement, at time.Time) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settings.URL == "" {
		return
	}
	body, err := json.Marshal(Event{Type: movement.Kind + "." + string(movement.Status), Timestamp: at, Data: movement})
	if err != nil {
		panic(err) // our own types always encode
	}
	e := &outgoing{
		settings: m.settings, id: fmt.Sprintf("evt_%s_%s", movement.ID, movement.Status), body: body, reference: movement.Reference,
		late: time.Duration(m.settings.Delay) + m.drawn(movement), taken: make(chan struct{}),
	}
	if e.settings.BeforeAnswer {
		m.untaken[e.reference] = append(m.untaken[e.reference], e.taken)
	}
	for range 1 + m.settings.Copies {
		m.sending.Go(func() { m.deliver(e) })
	}
}

// after runs do when a pending movement comes to its end: nobody may ask, and there is
// something to tell.
func (m *messenger) after(wait time.Duration, do func()) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.settings.URL == "" {
		return
	}
	m.sending.Go(func() {
		if m.pause(wait) == nil {
			do()
		}
	})
}

// drawn is the part of the spread that an event meets in every run.
func (m *messenger) drawn(movement Movement) time.Duration {
	chance := (&planner{seed: m.seed}).chance(movement.Reference, 0)("webhook " + string(movement.Status))
	return time.Duration(float64(m.settings.Spread) * chance)
}

// outgoing is one event on its way.
type outgoing struct {
	settings  Webhooks
	id        string
	body      []byte
	reference string
	late      time.Duration
	once      sync.Once
	taken     chan struct{}
}

// deliver repeats a webhook until somebody takes it. Nothing is told that a crash
// could still take back.
func (m *messenger) deliver(e *outgoing) {
	if m.pause(e.late) != nil || m.journal.wait(m.journal.position()) != nil {
		return
	}
	for wait := webhookPauseMin; !m.post(e); wait = min(2*wait, webhookPauseMax) {
		if m.pause(wait) != nil {
			return
		}
	}
	e.once.Do(func() { close(e.taken) })
}

func (m *messenger) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-m.ctx.Done():
		return m.ctx.Err()
	}
}

func (m *messenger) post(e *outgoing) (taken bool) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-m.ctx.Done():
		return false
	}
	req, err := http.NewRequestWithContext(m.ctx, http.MethodPost, e.settings.URL, bytes.NewReader(e.body))
	if err != nil {
		return false
	}
	req.Header = Sign(e.settings.Secret, e.id, time.Now(), e.body)
	resp, err := m.client.Do(req)
	if err != nil {
		return false
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, bodyBytesMax))
	return resp.StatusCode/100 == 2
}

// awaitTaken waits for the events of a reference that must come before the answer.
func (m *messenger) awaitTaken(reference string) {
	m.mu.Lock()
	waited := m.untaken[reference]
	delete(m.untaken, reference)
	m.mu.Unlock()
	for _, taken := range waited {
		select {
		case <-taken:
		case <-m.ctx.Done():
			return
		}
	}
}
