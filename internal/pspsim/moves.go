package pspsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Limits of what a request may hold.
const (
	bodyBytesMax      = 64 << 10
	referenceBytesMax = 255
	keyBytesMax       = 255
	amountMax         = 1_000_000_000_000_000
)

// moveBody is the body of the three money-moving requests; each uses its part.
type moveBody struct {
	Reference     string `json:"reference"`
	AmountMinor   int64  `json:"amountMinor"`
	Currency      string `json:"currency"`
	PaymentMethod string `json:"paymentMethod"`
	Customer      string `json:"customer"`
}

func (s *Server) postCharge(w http.ResponseWriter, r *http.Request) { s.move(w, r, kindCharge) }
func (s *Server) postRefund(w http.ResponseWriter, r *http.Request) { s.move(w, r, kindRefund) }
func (s *Server) postVoid(w http.ResponseWriter, r *http.Request)   { s.move(w, r, kindVoid) }

// move serves one money-moving request: counted in, planned, carried out, and
// answered or not.
func (s *Server) move(w http.ResponseWriter, r *http.Request, k kind) {
	o, err := readOrder(r, k)
	if err != nil {
		refuse(w, http.StatusBadRequest, codeInvalid, err.Error())
		return
	}
	step, done, err := s.process(o)
	switch {
	case errors.Is(err, errKeyReused):
		refuse(w, http.StatusConflict, codeKeyReused, err.Error())
	case err != nil:
		refuse(w, http.StatusInternalServerError, codeBroken, err.Error())
	default:
		answer(w, step, done)
	}
}

// process does all but answer. The call is no longer open when it returns: a
// client that has its answer must not find its own call still counted.
func (s *Server) process(o order) (Step, result, error) {
	arrival := s.book.arrive(o.reference)
	defer s.book.leave(o.reference)
	p := s.planner.Load()
	step := p.plan(o.reference, o.method, arrival)
	o.outcome, o.pendingFor = step.outcome, p.pendingFor()
	done, err := s.carryOut(o, step, p.faults)
	if err == nil {
		s.tells.awaitTaken(o.reference)
		s.sleep(step.delayAfter)
	}
	return step, done, err
}

// readOrder reads the whole request, so that a cut comes after it and not inside.
func readOrder(r *http.Request, k kind) (order, error) {
	body, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, bodyBytesMax))
	if err != nil {
		return order{}, err
	}
	var b moveBody
	if err := json.Unmarshal(body, &b); err != nil {
		return order{}, err
	}
	o := order{
		kind: k, reference: b.Reference, method: b.PaymentMethod, amount: b.AmountMinor, currency: b.Currency,
		key: r.Header.Get("Idempotency-Key"), print: printOf(r.URL.Path, body),
	}
	if k != kindCharge {
		if o.chargeID, err = parseID(r.PathValue("id")); err != nil {
			return order{}, err
		}
	}
	return o, o.validate()
}

func parseID(id string) (uint64, error) {
	digits, ok := strings.CutPrefix(id, prefixes[kindCharge]+"_")
	seq, err := strconv.ParseUint(digits, 10, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is no charge's id", id)
	}
	return seq, nil
}

func (o order) validate() error {
	switch {
	case o.reference == "" || len(o.reference) > referenceBytesMax:
		return fmt.Errorf("reference needs 1 to %d bytes", referenceBytesMax)
	case len(o.key) > keyBytesMax:
		return fmt.Errorf("the idempotency key is longer than %d bytes", keyBytesMax)
	case o.kind == kindVoid:
		return nil
	case o.amount <= 0 || o.amount > amountMax:
		return fmt.Errorf("amountMinor is not between 1 and %d", int64(amountMax))
	case len(o.currency) != 3:
		return errors.New("currency needs the three letters of ISO 4217")
	}
	return nil
}

// carryOut moves the money, or returns what the key's first request came to, or
// moves nothing where the step's fault comes before. The result is on disk when
// carryOut returns.
func (s *Server) carryOut(o order, step Step, f Faults) (result, error) {
	done, held, err := s.beginKey(&o, f)
	if err != nil {
		return result{}, err
	}
	defer held.abandon() // does nothing after finish
	s.sleep(step.delayBefore)
	if step.fault.before() {
		return result{}, nil
	}
	if done == (result{}) {
		done = s.book.take(o)
		held.finish(done)
	}
	return done, s.journal.wait(done.mark)
}

func (s *Server) beginKey(o *order, f Faults) (result, *hold, error) {
	if f.Keys == KeysOff || o.key == "" {
		o.key = "" // nothing is remembered under a key that is not honoured
		return result{}, nil, nil
	}
	forget := time.Duration(0)
	if f.Keys == KeysForgetAfter {
		forget = time.Duration(f.ForgetAfter)
	}
	return s.keys.begin(o.key, o.print, forget)
}

// sleep waits as real providers do: whether the client is still there or not.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.closing:
	}
}
