package pspsim

import (
	"crypto/sha256"
	"errors"
	"sync"
	"time"
)

// fingerprint is the SHA-256 of path and body.
type fingerprint [sha256.Size]byte

func printOf(path string, body []byte) fingerprint {
	h := sha256.New()
	_, _ = h.Write([]byte(path))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write(body)
	return fingerprint(h.Sum(nil))
}

var errKeyReused = errors.New("the key was used with another request")

// keyring gives each key its first result, and lets simultaneous requests with
// one key wait for each other.
type keyring struct {
	now func() time.Time

	mu   sync.Mutex
	keys map[string]*keyEntry
}

// keyEntry is one key. While busy is not nil its first request is being worked on.
type keyEntry struct {
	print  fingerprint
	at     time.Time
	busy   chan struct{}
	result result
}

// hold is what a request holds of its key. A nil hold, of a request without a
// key, holds nothing.
type hold struct {
	ring  *keyring
	key   string
	entry *keyEntry
}

func newKeyring(now func() time.Time) *keyring {
	return &keyring{now: now, keys: map[string]*keyEntry{}}
}

// begin returns the stored result of the key, or a hold on it as its first
// request, or errKeyReused. It waits while another request holds the key. A key
// older than forget is a new one; zero remembers for ever.
func (k *keyring) begin(key string, request fingerprint, forget time.Duration) (stored result, h *hold, err error) {
	for {
		k.mu.Lock()
		entry, ok := k.keys[key]
		if !ok || (entry.busy == nil && forget > 0 && k.now().Sub(entry.at) >= forget) {
			entry = &keyEntry{print: request, at: k.now(), busy: make(chan struct{})}
			k.keys[key] = entry
			k.mu.Unlock()
			return result{}, &hold{ring: k, key: key, entry: entry}, nil
		}
		busy := entry.busy
		k.mu.Unlock()
		if busy != nil {
			<-busy
			continue
		}
		if entry.print != request {
			return result{}, nil, errKeyReused
		}
		return entry.result, nil, nil
	}
}

// restore enters a key from the journal.
func (k *keyring) restore(key string, request fingerprint, at time.Time, r result) {
	k.keys[key] = &keyEntry{print: request, at: at, result: r}
}

// finish stores the result for all later requests.
func (h *hold) finish(r result) {
	if h == nil {
		return
	}
	h.ring.mu.Lock()
	defer h.ring.mu.Unlock()
	h.entry.result = r
	close(h.entry.busy)
	h.entry.busy = nil
}

// abandon gives the key back: nothing happened, and the next request is the first.
func (h *hold) abandon() {
	if h == nil {
		return
	}
	h.ring.mu.Lock()
	defer h.ring.mu.Unlock()
	if h.entry.busy == nil {
		return // finished
	}
	close(h.entry.busy)
	delete(h.ring.keys, h.key)
}
