package client

import (
	"context"
	"fmt"
	"time"
)

// call is one thing that is asked for, in as many requests as it takes.
type call struct {
	method, path string
	query        string
	intent       *Intent // nil: it only reads
	body         []byte
	// read takes an answer of status 2xx. An error says that it is not payonce's.
	read func(answer) error
}

// try is what one request came to.
type try struct {
	err   error         // nil: it was answered
	again bool          // a repeat can help
	after time.Duration // no repeat before that
	// told says that the answer is payonce's word that nothing was carried out.
	// Without it a request may have arrived and be done.
	told bool
}

// ask performs a call and returns what its answer tells. take reads an answer of status
// 2xx into a value that no answer before it has touched; of a call that failed nothing is
// returned.
func ask[T any](ctx context.Context, c *Client, call call, take func(answer, *T) error) (T, error) {
	var got, none T
	call.read = func(a answer) error {
		got = none
		return take(a, &got)
	}
	if err := c.perform(ctx, call); err != nil {
		return none, err
	}
	return got, nil
}

// perform sends requests until one is answered, none can help, or the time is over.
func (c *Client) perform(ctx context.Context, call call) error {
	if err := ctx.Err(); err != nil {
		return call.conclude(err) // nothing was sent
	}
	last, pauses := time.Now().Add(c.retry.Within), c.retry.pauses()
	for {
		t := c.send(ctx, call)
		if call.intent != nil && !t.told {
			call.intent.asked.Store(true)
		}
		pause := t.after + pauses.NextBackOff()
		if !t.again || time.Now().Add(pause).After(last) {
			return call.conclude(t.err)
		}
		if err := wait(ctx, pause); err != nil {
			return call.conclude(fmt.Errorf("%w, after: %w", err, t.err))
		}
	}
}

// conclude makes an error of the whole call of its last request's. A refusal speaks
// for one request and one moment. One before it that went unanswered may still be on
// its way, and be taken on when it arrives.
func (c call) conclude(err error) error {
	if err == nil {
		return nil
	}
	problem, refused := err.(*ProblemError) //nolint:errorlint // a wrapped one was not the last word
	switch {
	case refused && problem.reused():
		return &KeyReusedError{Intent: c.intent, DifferingFields: problem.DifferingFields, problem: problem}
	case refused && problem.conflict():
		err = &ConflictError{Payment: problem.Payment, Refund: problem.Refund, problem: problem}
	}
	if c.intent != nil && c.intent.asked.Load() {
		return &UnresolvedError{Intent: c.intent, Cause: err}
	}
	return err
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
