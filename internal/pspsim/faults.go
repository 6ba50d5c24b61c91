package pspsim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// The modes of keys and of the inquiry.
const (
	KeysOn          = "on"           // a repeated key gets the first answer, for ever
	KeysOff         = "off"          // keys are ignored: each request is a new movement
	KeysForgetAfter = "forget_after" // a key is a new one after Faults.ForgetAfter
	InquiryOn       = "on"
	InquiryOff      = "off"
	InquiryLagging  = "lagging" // movements show Faults.InquiryLag after they happened
)

// Faults is the body of PUT /faults. It replaces all earlier faults; the zero
// value is a provider without faults, with keys and inquiry.
type Faults struct {
	Rates Rates `json:"rates"`
	// Keys is "on" (default), "off" or "forget_after".
	Keys        string   `json:"keys,omitempty"`
	ForgetAfter Duration `json:"forget_after,omitempty"`
	// Inquiry is "on" (default), "off" or "lagging".
	Inquiry    string   `json:"inquiry,omitempty"`
	InquiryLag Duration `json:"inquiry_lag,omitempty"`
	// Scripts fix what happens to certain requests, before any rate is drawn.
	Scripts []Script `json:"scripts,omitempty"`
}

// Rates are shares of requests, 0 to 1, unless the name ends in a unit. The
// faults that exclude each other (refuse, cut_before, cut_after, error_5xx,
// too_many) are drawn together and may sum to at most 1.
type Rates struct {
	Decline float64 `json:"decline,omitempty"`
	// Refuse answers 422: a final no, and nothing happened.
	Refuse float64 `json:"refuse,omitempty"`
	// CutBefore reads the request and closes the connection: nothing happened.
	CutBefore float64 `json:"cut_before,omitempty"`
	// CutAfter charges and closes the connection, half of them inside the answer.
	CutAfter float64 `json:"cut_after,omitempty"`
	// Error5xx answers with a gateway's page; half of them have charged.
	Error5xx float64 `json:"error_5xx,omitempty"`
	// TooMany answers 429: nothing happened.
	TooMany float64 `json:"too_many,omitempty"`
	// Pending answers "pending" and captures after PendingMS, or declines then in
	// PendingDecline of the cases.
	Pending        float64 `json:"pending,omitempty"`
	PendingDecline float64 `json:"pending_decline,omitempty"`
	PendingMS      int     `json:"pending_ms,omitempty"` // default 500
	// DelayMS delays every request, before the charge.
	DelayMS int `json:"delay_ms,omitempty"`
	// Slow is the share delayed by SlowMS, half of them after the charge.
	Slow   float64 `json:"slow,omitempty"`
	SlowMS int     `json:"slow_ms,omitempty"` // default 3000
}

// Script fixes what happens to the arrivals of each matching reference: the first
// arrival meets the first step, and so on; later ones meet the rates. Exactly one
// of Reference and PaymentMethod is given; "*" as the reference matches all that
// no other script does.
type Script struct {
	Reference     string `json:"reference,omitempty"`
	PaymentMethod string `json:"paymentMethod,omitempty"`
	Steps         []Step `json:"steps"`
}

// Duration is a time.Duration whose JSON form is text such as "1.5s".
type Duration time.Duration

// MarshalText renders the duration as Go does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads, and refuses negatives.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if parsed < 0 {
		return fmt.Errorf("%s is negative", parsed)
	}
	*d = Duration(parsed)
	return nil
}

const (
	pendingDefault = 500 * time.Millisecond
	slowDefault    = 3 * time.Second
	// delayMax keeps a typing mistake from holding connections for hours.
	delayMax = 10 * time.Minute
	// scriptsMax and stepsMax bound what one PUT can make us hold.
	scriptsMax = 10_000
	stepsMax   = 100
)

// ReadFaults reads faults in JSON. It refuses names that it does not know: a
// misspelt fault would never be seen to fail. See Validate for the rest.
func ReadFaults(r io.Reader) (Faults, error) {
	decoder := json.NewDecoder(r)
	decoder.DisallowUnknownFields()
	var f Faults
	err := decoder.Decode(&f)
	return f, err
}

// Validate returns what is wrong with the faults, or nil.
func (f Faults) Validate() error {
	switch f.Keys {
	case "", KeysOn, KeysOff:
	case KeysForgetAfter:
		if f.ForgetAfter <= 0 {
			return errors.New(`keys "forget_after" needs forget_after, such as "10s"`)
		}
	default:
		return fmt.Errorf("keys: %q is not on, off or forget_after", f.Keys)
	}
	switch f.Inquiry {
	case "", InquiryOn, InquiryOff:
	case InquiryLagging:
		if f.InquiryLag <= 0 {
			return errors.New(`inquiry "lagging" needs inquiry_lag, such as "2s"`)
		}
	default:
		return fmt.Errorf("inquiry: %q is not on, off or lagging", f.Inquiry)
	}
	if len(f.Scripts) > scriptsMax {
		return fmt.Errorf("%d scripts are more than %d", len(f.Scripts), scriptsMax)
	}
	for i, script := range f.Scripts {
		if err := script.validate(); err != nil {
			return fmt.Errorf("script %d: %w", i, err)
		}
	}
	return f.Rates.validate()
}

func (s Script) validate() error {
	if (s.Reference == "") == (s.PaymentMethod == "") {
		return errors.New("exactly one of reference and paymentMethod is needed")
	}
	if len(s.Steps) == 0 || len(s.Steps) > stepsMax {
		return fmt.Errorf("1 to %d steps are needed, not %d", stepsMax, len(s.Steps))
	}
	return nil
}

func (r Rates) validate() error {
	for name, rate := range map[string]float64{
		"decline": r.Decline, "refuse": r.Refuse, "cut_before": r.CutBefore, "cut_after": r.CutAfter, "error_5xx": r.Error5xx,
		"too_many": r.TooMany, "pending": r.Pending, "pending_decline": r.PendingDecline, "slow": r.Slow,
	} {
		if math.IsNaN(rate) || rate < 0 || rate > 1 {
			return fmt.Errorf("rates.%s: %v is not between 0 and 1", name, rate)
		}
	}
	if sum := r.Refuse + r.CutBefore + r.CutAfter + r.Error5xx + r.TooMany; sum > 1 {
		return fmt.Errorf("rates: refuse, cut_before, cut_after, error_5xx and too_many sum to %v, more than 1", sum)
	}
	for name, ms := range map[string]int{"delay_ms": r.DelayMS, "slow_ms": r.SlowMS, "pending_ms": r.PendingMS} {
		if ms < 0 || milliseconds(ms, 0) > delayMax {
			return fmt.Errorf("rates.%s: %d is not between 0 and %d", name, ms, delayMax.Milliseconds())
		}
	}
	return nil
}

func milliseconds(ms int, fallback time.Duration) time.Duration {
	if ms == 0 {
		return fallback
	}
	return time.Duration(ms) * time.Millisecond
}
