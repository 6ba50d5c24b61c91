package demo

import (
	"bytes"
	"context"
	"net/http"
	"slices"
)

// replaysMax is how many final payments, and refunds, are asked for once more.
const replaysMax = 100

// replayFinals asks again for some payments and refunds that are final, twice each, and
// counts those that were not answered with the stored answer, byte for byte.
func (s *stage) replayFinals(ctx context.Context, l *load, f *findings) error {
	var payments, refunds []call
	for id, o := range l.accepted {
		if f.charges[id].State.Final() {
			payments = append(payments, o.call)
		}
	}
	for id, c := range l.refunds {
		if f.refunds[id].State.Final() {
			refunds = append(refunds, c)
		}
	}
	for _, c := range slices.Concat(payments[:min(len(payments), replaysMax)], refunds[:min(len(refunds), replaysMax)]) {
		if err := s.replay(ctx, l, c); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) replay(ctx context.Context, l *load, c call) error {
	first, err := s.request(ctx, l, c)
	if err != nil {
		return err
	}
	second, err := s.request(ctx, l, c)
	if err != nil {
		return err
	}
	if !first.stored() || !second.stored() || !bytes.Equal(first.body, second.body) {
		l.unequal.Add(1)
	}
	return nil
}

// stored reports whether the reply is the answer that was kept for repeats.
func (r reply) stored() bool { return r.replayed && r.status == http.StatusCreated }
