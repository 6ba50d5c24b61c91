package provider

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Errors of requests that the wire rules stop. Nothing of such a request left.
var (
	ErrStopDeadline   = errors.New("the sender's stop-deadline has passed")
	ErrPermitUsed     = errors.New("the permit has already been used for a request")
	ErrPermitRevoked  = errors.New("the permit has been revoked")
	ErrPermitMissing  = errors.New("a request that may move money needs a permit")
	ErrBodyMissing    = errors.New("a request that may move money needs a body of known length above zero")
	ErrAnswerTooLarge = errors.New("the answer is larger than any that we read")
)

// Permit allows one request, once, until a deadline, and is the record of whether
// a byte of it may have been sent. The Transport refuses a money-moving request
// without one, and a second request with the same one, so that no layer between
// (an SDK's retry, a redirect) can turn one attempt into two.
type Permit struct {
	stop StopDeadline

	mu      sync.Mutex
	used    bool
	written bool
	revoked bool
}

type permitKey struct{}

// WithPermit returns a context that allows one request until stop, and the
// permit that records it.
func WithPermit(ctx context.Context, stop StopDeadline) (context.Context, *Permit) {
	permit := &Permit{stop: stop}
	return context.WithValue(ctx, permitKey{}, permit), permit
}

func permitFrom(ctx context.Context) *Permit {
	permit, _ := ctx.Value(permitKey{}).(*Permit)
	return permit
}

// NotSent revokes the permit and reports whether that proves that no byte of the
// request was sent or ever will be. For a permit that was written under the
// answer is false for ever: whether those bytes arrived is the provider's to say.
//
// Reading the record without revoking would rest on the order in which net/http
// does things: its write loop is another goroutine, and on a cancelled context the
// call returns while that loop may have taken up the request and written nothing
// yet. If it then wrote: we read "nothing written", the operation goes back to
// created, someone else sends it, and the provider gets it twice.
func (p *Permit) NotSent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.revoked = true
	return !p.written
}

// use spends the permit on one request.
func (p *Permit) use() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.used {
		return ErrPermitUsed
	}
	p.used = true
	return nil
}

// unguarded says that the request goes over a connection whose writes we do not
// see, so that nothing can be concluded from not having seen one.
func (p *Permit) unguarded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.written = true
}

// write decides about one Write call. Nil means that the caller now hands the
// bytes to the kernel, and that the request counts as possibly sent from here on.
func (p *Permit) write(now time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.revoked {
		return ErrPermitRevoked
	}
	if left := p.stop.Remaining(now); left <= 0 {
		return fmt.Errorf("%w %s ago", ErrStopDeadline, -left)
	}
	p.written = true
	return nil
}
