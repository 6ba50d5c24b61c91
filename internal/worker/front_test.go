package worker_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payonce/payonce/internal/pspsim"
)

// front stands before a simulated provider, at one address, and can be down in the
// ways in which providers are. It sees every request.
type front struct {
	*pspsim.Server
	url     string
	address string
	ponder  time.Duration // before a question is answered
	failsAt string        // a reference: each question about it meets a fault of the provider
	t       testing.TB

	mu       sync.Mutex
	serving  *http.Server
	mode     mode
	ended    chan struct{} // closed when what hangs is let go
	inFlight int           // charges
	seen     sightings
}

// sightings are what the front saw since the last change.
type sightings struct {
	moments []moment
	most    int // charges in flight at once
}

// moment is the arrival of one request.
type moment struct {
	at       time.Time
	method   string
	body     string
	inFlight int // charges, this one included
}

// mode is how a front answers.
type mode int

const (
	up     mode = iota
	page        // every request meets a gateway's error page
	hang        // every request is read and not answered
	closed      // nobody listens
)

func newFront(t testing.TB, faults pspsim.Faults) *front {
	t.Helper()
	sim, err := pspsim.New(pspsim.Options{Seed: 1, Faults: faults})
	require.NoError(t, err)
	f := &front{Server: sim, address: "127.0.0.1:0", ended: make(chan struct{}), t: t, mode: closed}
	f.become(up)
	f.url = "http://" + f.address
	t.Cleanup(func() {
		f.become(closed)
		require.NoError(t, sim.Close())
	})
	return f
}

// become changes how the front answers, and returns what it saw until then. What
// hung gets no answer and moved nothing.
func (f *front) become(m mode) sightings {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.ended)
	f.ended = make(chan struct{})
	if f.mode != closed && m == closed {
		require.NoError(f.t, f.serving.Close())
	}
	if f.mode == closed && m != closed {
		var config net.ListenConfig
		listener, err := config.Listen(f.t.Context(), "tcp", f.address)
		require.NoError(f.t, err)
		f.address = listener.Addr().String()
		if f.serving == nil {
			f.holdPort(listener)
		}
		f.serving = &http.Server{Handler: f, ReadHeaderTimeout: time.Minute}
		go func(s *http.Server) { _ = s.Serve(listener) }(f.serving)
	}
	f.mode = m
	seen := f.seen
	f.seen = sightings{}
	return seen
}

// holdPort keeps the port while nobody listens: a connection that stays open keeps
// others from being given the port, whom the worker would take for its provider, and
// does not keep the front from listening there again.
func (f *front) holdPort(listener net.Listener) {
	f.t.Helper()
	var dialer net.Dialer
	near, err := dialer.DialContext(f.t.Context(), "tcp", f.address)
	require.NoError(f.t, err)
	far, err := listener.Accept()
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		require.NoError(f.t, near.Close())
		require.NoError(f.t, far.Close())
	})
}

func (f *front) look() sightings {
	f.mu.Lock()
	defer f.mu.Unlock()
	return sightings{moments: append([]moment(nil), f.seen.moments...), most: f.seen.most}
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// Read first, so that the server notices when the caller gives up.
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	m, ended := f.arrive(r, string(body))
	defer f.leave(r)
	switch m {
	case hang:
		select {
		case <-r.Context().Done():
		case <-ended:
		}
		panic(http.ErrAbortHandler)
	case page:
		w.WriteHeader(http.StatusBadGateway)
	default:
		if r.Method == http.MethodGet {
			<-time.After(f.ponder)
			if f.failsAt != "" && r.URL.Query().Get("reference") == f.failsAt {
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
		}
		f.Server.ServeHTTP(w, r)
	}
}

func (f *front) arrive(r *http.Request, body string) (mode, chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		f.inFlight++
		f.seen.most = max(f.seen.most, f.inFlight)
	}
	f.seen.moments = append(f.seen.moments, moment{at: time.Now(), method: r.Method, body: body, inFlight: f.inFlight})
	return f.mode, f.ended
}

func (f *front) leave(r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method == http.MethodPost {
		f.inFlight--
	}
}
