package pspsim

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options is how a provider starts. The zero value keeps nothing on disk and has
// no faults.
type Options struct {
	// Seed decides which requests meet which faults.
	Seed uint64
	// Account is the provider's name for the account that it keeps, AccountDefault
	// when empty. Two providers are told apart by it.
	Account string
	// DataFile, if given, keeps movements, keys and doors over a restart. Counts
	// of sends start anew with it.
	DataFile string
	// Faults are in force from the start, and so are Webhooks.
	Faults   Faults
	Webhooks Webhooks
	// Now is the provider's clock: when keys are forgotten, pending movements come
	// to their end, and an inquiry's lag is over. Nil is time.Now. Delays are real.
	Now func() time.Time
}

// Server is the provider. It is an http.Handler; Serve runs it on a listener.
type Server struct {
	account string
	seed    uint64
	now     func() time.Time
	mux     *http.ServeMux
	book    *book
	keys    *keyring
	journal *journal
	planner atomic.Pointer[planner]
	tells   *messenger

	closing   chan struct{} // ends all delays
	endDelays func()
}

// New returns a provider that knows what its data file holds. It returns an error
// for invalid faults and for a data file that it cannot read.
func New(o Options) (*Server, error) {
	if err := errors.Join(o.Faults.Validate(), o.Webhooks.Validate()); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Account == "" {
		o.Account = AccountDefault
	}
	s := &Server{account: o.Account, seed: o.Seed, now: o.Now, book: newBook(nil, o.Now), keys: newKeyring(o.Now), closing: make(chan struct{})}
	s.endDelays = sync.OnceFunc(func() { close(s.closing) })
	if o.DataFile != "" {
		j, err := openJournal(o.DataFile, s.restore)
		if err != nil {
			return nil, err
		}
		s.journal, s.book.journal = j, j
	}
	s.planner.Store(newPlanner(o.Faults, o.Seed))
	s.tells = newMessenger(o.Seed, s.journal)
	s.tells.set(o.Webhooks)
	s.book.tells = s.tells
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.mux = http.NewServeMux()
	s.mux.HandleFunc("POST /v1/charges", s.postCharge)
	s.mux.HandleFunc("POST /v1/charges/{id}/refunds", s.postRefund)
	s.mux.HandleFunc("POST /v1/charges/{id}/void", s.postVoid)
	s.mux.HandleFunc("POST /v1/charges/void", s.postDoor)
	s.mux.HandleFunc("GET /v1/charges", s.getCharges)
	s.mux.HandleFunc("GET /v1/account", s.getAccount)
	s.mux.HandleFunc("GET /oracle", s.getOracle)
	s.mux.HandleFunc("GET /faults", s.getFaults)
	s.mux.HandleFunc("PUT /faults", s.putFaults)
	s.mux.HandleFunc("GET /webhooks", s.getWebhooks)
	s.mux.HandleFunc("PUT /webhooks", s.putWebhooks)
	s.mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

// ServeHTTP serves the provider's API, the faults and the oracle.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

// SetFaults does what PUT /faults does.
func (s *Server) SetFaults(f Faults) error {
	if err := f.Validate(); err != nil {
		return err
	}
	s.planner.Store(newPlanner(f, s.seed))
	return nil
}

// SetWebhooks does what PUT /webhooks does.
func (s *Server) SetWebhooks(w Webhooks) error {
	if err := w.Validate(); err != nil {
		return err
	}
	s.tells.set(w)
	return nil
}

// Oracle does what GET /oracle does.
func (s *Server) Oracle() Oracle { return s.book.oracle("") }

// Close ends all delays and webhooks and closes the data file. Call it once, when no request is
// being served any more; Serve does.
func (s *Server) Close() error {
	s.endDelays()
	s.tells.close()
	return s.journal.close()
}

// ShutdownWait is how long Serve lets requests end after its context has. They
// are cut off after it, which a provider's clients must bear anyway.
const ShutdownWait = 2 * time.Second

// Serve runs the provider on a listener until the context ends or serving fails,
// and closes both.
func Serve(ctx context.Context, listener net.Listener, s *Server) error {
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		s.endDelays()
		s.tells.stop() // answers that wait for a webhook wait no more
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), ShutdownWait)
		defer cancel()
		err := server.Shutdown(bounded)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close()
		}
		stopped <- err
	})
	err := server.Serve(listener)
	if !stop() && errors.Is(err, http.ErrServerClosed) {
		err = <-stopped // Serve returns as soon as a shutdown begins
	}
	return errors.Join(err, s.Close())
}

// restore enters one line of the data file.
func (s *Server) restore(r record) error {
	var request fingerprint
	if _, err := hex.Decode(request[:], []byte(r.Print)); err != nil {
		return err
	}
	s.book.latest = r.At
	s.book.settle(r.At)
	switch r.Type {
	case recordMove:
		m, err := s.book.restore(r)
		if err != nil {
			return err
		}
		if r.Key != "" {
			s.keys.restore(r.Key, request, r.At, result{movement: m})
		}
	case recordRefuse:
		if r.Key != "" {
			s.keys.restore(r.Key, request, r.At, result{refusal: r.Code})
		}
	case recordDoor:
		s.book.shut(r.Reference)
	default:
		return fmt.Errorf("%q is no type of record", r.Type)
	}
	return nil
}
