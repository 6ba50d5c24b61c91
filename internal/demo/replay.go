package demo

import (
	"bytes"
	"context"
	"net/http"
)

// replaysMax is how many final payments, and refunds, are asked for once more.
const replaysMax = 100

// replayFinals asks again for some payments and refunds that are final, twice each, and
// counts those that were not answered with the stored answer, byte for byte.
func (s *stage) replayFinals(ctx context.Context, l *load, f *findings) error {
	asked := 0
	for id, o := range l.accepted {
		if asked < replaysMax && f.charges[id].State.Final() {
			asked++
			if err := s.replay(ctx, l, o.call); err != nil {
				return err
			}
		}
	}
	asked = 0
	for id, c := range l.refunds {
		if asked < replaysMax && f.refunds[id].State.Final() {
			asked++
			if err := s.replay(ctx, l, c); err != nil {
				return err
			}
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
		l.differs()
	}
	return nil
}

// stored reports whether the reply is the answer that was kept for repeats.
func (r reply) stored() bool { return r.replayed && r.status == http.StatusCreated }
